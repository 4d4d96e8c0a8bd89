"""A Ray cluster for tests: nodes as processes of this machine, on loopback, with a token, gone at the end."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.grading.processes import descendants

# Ray reads these when it is imported.
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Else Ray puts this machine's outer address for 127.0.0.1 and listens on every interface.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ENABLE_METRICS_COLLECTION": "0",
}
NODE = {
    "num_cpus": 1,
    "object_store_memory": 80 * 1024 * 1024,
    "include_dashboard": False,
    "node_ip_address": "127.0.0.1",
}


class TwoNodes:
    """Both have one CPU. The driver is on the first; nodes can be added, and killed."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster()
        self.head = self.add()
        self.add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self) -> Any:
        return self._cluster.add_node(wait=False, **NODE)

    def kill(self, node: Any) -> None:
        """As a machine dies: SIGKILL, no farewell."""
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    temporary = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # sockets have at most 107 characters
    Path(temporary, "ray").mkdir()  # Ray notes the cluster's address there, and does not make the directory
    before, environment = descendants(os.getpid()), dict(os.environ)
    os.environ.update(SETTINGS, RAY_TMPDIR=temporary, RAY_AUTH_TOKEN=secrets.token_hex(32))
    try:
        cluster = TwoNodes()
        try:
            yield cluster
        finally:
            cluster.close()
        assert not (left := descendants(os.getpid()) - before), f"processes of Ray are left: {left}"
    finally:
        os.environ.clear()
        os.environ.update(environment)
        shutil.rmtree(temporary, ignore_errors=True)

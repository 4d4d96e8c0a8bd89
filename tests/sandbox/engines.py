"""Daemons of the tests' own: dockerd and Podman's service, each with its data, its state and its socket in a directory.

No registry and no network are needed: a box of this machine's tools has an image that the sandbox makes itself.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ENGINES = ("docker", "podman")
START_SECONDS = 60.0
NEEDED = {"docker": ("dockerd", "containerd", "runc"), "podman": ("podman", "conmon", "runc")}
PACKAGES = "docker.io podman runc"


@contextmanager
def engine(name: str) -> Iterator[Mapping[str, str]]:
    """A running daemon; yields the variables with which the sandbox finds it."""
    missing = [tool for tool in NEEDED[name] if shutil.which(tool) is None]
    if missing:
        raise RuntimeError(f"{missing[0]} is missing: run `apt-get install {PACKAGES}`")
    place = Path(tempfile.mkdtemp(prefix=f"rtl-agent-{name}-", dir="/tmp"))  # short: its sockets have 108 characters
    socket = place / "engine.sock"
    argv, env = (_dockerd if name == "docker" else _podman)(place, socket)
    log = place / "log"
    with log.open("wb") as output:
        # Not where the tests run: conmon leaves a file `oom` in the directory in which its daemon was started.
        daemon = subprocess.Popen(
            argv, stdout=output, stderr=output, env={**os.environ, **env}, start_new_session=True, cwd=place
        )
    try:
        _wait_for(socket, daemon, log)
        yield {"DOCKER_HOST" if name == "docker" else "CONTAINER_HOST": f"unix://{socket}"}
    finally:
        daemon.terminate()
        try:
            daemon.wait(30)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        _unmount_below(place)
        shutil.rmtree(place, ignore_errors=True)


def _dockerd(place: Path, socket: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    where = ["--data-root", str(place / "data"), "--exec-root", str(place / "exec"), "--pidfile", str(place / "pid")]
    return ["dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", *where, "-H", f"unix://{socket}"], {}


def _podman(place: Path, socket: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    config = place / "containers.conf"
    config.write_text(
        '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
    )
    where = ["--root", str(place / "data"), "--runroot", str(place / "run"), "--tmpdir", str(place / "tmp")]
    return ["podman", *where, "system", "service", "--time=0", f"unix://{socket}"], {"CONTAINERS_CONF": str(config)}


def _wait_for(socket: Path, daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not socket.exists():
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the daemon did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)


def _unmount_below(place: Path) -> None:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for path in reversed([path for path in mounts if Path(path).is_relative_to(place)]):
        subprocess.run(["umount", "-l", path], check=False)

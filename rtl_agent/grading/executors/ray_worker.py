"""The part that runs on a node of a Ray cluster: an actor that judges one job at a time in boxes of its own."""

import os
from collections.abc import Mapping
from types import ModuleType

from rtl_agent.grading.executors.executor import ExecutorFault
from rtl_agent.grading.executors.local import FAULTS, LocalExecutor
from rtl_agent.grading.grade import Grade
from rtl_agent.grading.job import GradeJob
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import CocotbVersion

Fingerprints = dict[CocotbVersion, Mapping[str, str]]


def import_ray() -> ModuleType:
    """Ray, which comes with an extra of its own: it is larger than all the rest."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read once, when Ray is imported
    try:
        import ray
    except ImportError as error:
        raise ExecutorFault("Ray is not installed: run `pip install 'rtl-agent[ray]'`") from error
    module: ModuleType = ray
    return module


class RayWorker:
    """Made an actor by the pool. An exception's type may not survive the way back, so faults travel as text."""

    def __init__(self, timeout_seconds: float, path: str) -> None:
        self._timeout_seconds, self._path = timeout_seconds, SimulationMode(path)
        self._executor: LocalExecutor | None = None

    async def open(self) -> Fingerprints | str:
        """What the tools of this node are, or why it cannot work."""
        found: Fingerprints = {}
        try:
            self._executor = LocalExecutor(jobs=1, timeout_seconds=self._timeout_seconds, path=self._path)
            for cocotb_version in CocotbVersion:
                found[cocotb_version] = await self._executor.fingerprint(cocotb_version)
        except FAULTS as error:
            return f"{type(error).__name__}: {error}"
        except ExecutorFault as error:
            return str(error)
        return found

    async def grade(self, job: GradeJob) -> Grade:
        assert self._executor is not None
        return await self._executor.run(job)

    async def close(self) -> None:
        if self._executor is not None:
            await self._executor.aclose()

"""Where grading jobs run: boxes of this process, those of a Ray cluster, or wherever an installed package runs them.

An executor of one's own is an entry point of the group `rtl_agent.executors`, whose object makes one; `checks.py` has
what every executor must do.
"""

from typing import Protocol

from rtl_agent.grading.executors.executor import Executor, ExecutorFault
from rtl_agent.grading.executors.local import LocalExecutor
from rtl_agent.grading.executors.ray_executor import RayExecutor
from rtl_agent.grading.job import GradeJob
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.registry import Registry


class MakeExecutor(Protocol):
    """Makes an executor that runs `jobs` at a time; None: as many as it finds fit."""

    def __call__(self, *, jobs: int | None, timeout_seconds: float, path: SimulationMode) -> Executor: ...


EXECUTORS: Registry[MakeExecutor] = Registry(
    "executor", "rtl_agent.executors", {"local": LocalExecutor, "ray": RayExecutor}
)

__all__ = ["EXECUTORS", "Executor", "ExecutorFault", "GradeJob", "LocalExecutor", "MakeExecutor", "RayExecutor"]

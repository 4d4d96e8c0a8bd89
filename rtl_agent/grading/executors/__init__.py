"""Where grading jobs run: boxes of this process, a Ray cluster, a grade server, or what an installed package brings.

An executor of one's own is an entry point of the group `rtl_agent.executors`, whose object makes one; `checks.py` has
what every executor must do.
"""

from functools import partial
from typing import Protocol

from rtl_agent.grading.executors.executor import Executor, ExecutorFault
from rtl_agent.grading.executors.http_executor import HttpExecutor
from rtl_agent.grading.executors.local import LocalExecutor
from rtl_agent.grading.executors.ray_executor import RayExecutor
from rtl_agent.grading.job import GradeJob
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.registry import Registry, UnknownName


class MakeExecutor(Protocol):
    """Makes an executor that runs `jobs` at a time; None: as many as it finds fit."""

    def __call__(self, *, jobs: int | None, timeout_seconds: float, path: SimulationMode) -> Executor: ...


LOCAL = "local"
EXECUTORS: Registry[MakeExecutor] = Registry(
    "executor", "rtl_agent.executors", {LOCAL: LocalExecutor, "ray": RayExecutor}
)
GRADE_SERVER = "http://HOST:PORT"


def find_executor(name: str) -> MakeExecutor:
    """By its name, or by the address of a grade server; UnknownName lists what there is."""
    if is_address(name):
        return partial(HttpExecutor, name)
    try:
        return EXECUTORS[name]
    except UnknownName as error:
        raise UnknownName(f"{error}, or {GRADE_SERVER} of a grade server") from None


def is_address(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def is_executor(name: str) -> bool:
    return is_address(name) or name in EXECUTORS


__all__ = [
    "EXECUTORS",
    "GRADE_SERVER",
    "LOCAL",
    "Executor",
    "ExecutorFault",
    "GradeJob",
    "HttpExecutor",
    "LocalExecutor",
    "MakeExecutor",
    "RayExecutor",
    "find_executor",
    "is_address",
    "is_executor",
]

"""What an executor is to the grader: it takes a job, waits for a turn, and gives a grade back."""

from collections.abc import Mapping
from typing import Protocol

from rtl_agent.grading.grade import Grade
from rtl_agent.grading.job import GradeJob
from rtl_agent.problems import CocotbVersion


class ExecutorFault(Exception):
    """There is nobody to do the work: no node, no tools. Ours, and never a failed grade."""


class Executor(Protocol):
    """Where jobs run. `tests/grading/test_executors.py` states what every executor must do."""

    async def fingerprint(self, cocotb_version: CocotbVersion) -> Mapping[str, str]:
        """Everything about the tools that can change a verdict; ExecutorFault when they are not there."""
        ...

    async def run(self, job: GradeJob) -> Grade:
        """The grade, its reward left empty. Waits for a turn; holds no file and no process while it waits.

        A fault of ours that trying again did not cure is `Outcome.ERROR`. Cancelling ends the box before it returns.
        """
        ...

    async def aclose(self) -> None:
        """End everything that was started."""
        ...

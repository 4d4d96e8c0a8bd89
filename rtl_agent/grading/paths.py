"""Which way a submission is simulated: the exact path, or the fast one where it can do the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rtl_agent.grading.exact import ExactPath, ServiceRun
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport
from rtl_agent.problems import Problem
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain


class Path(StrEnum):
    EXACT = "exact"
    FAST = "fast"
    AUTO = "auto"


@dataclass(frozen=True)
class Judged:
    """What the services showed, what the compiler said, and which path was taken, and why."""

    runs: Sequence[ServiceRun]
    syntax: SyntaxReport
    path: str
    why: str = ""


class Paths:
    """Holds both paths; nothing above it knows which one ran."""

    def __init__(
        self, sandbox: Sandbox, toolchain: Toolchain, *, jobs: int, timeout_seconds: float, path: Path = Path.AUTO
    ) -> None:
        self._exact = ExactPath(sandbox, toolchain, timeout_seconds=timeout_seconds)

    async def aclose(self) -> None:
        return None

    async def compile(self, problem: Problem, submission: Submission) -> SyntaxReport:
        """The syntax stage alone."""
        return await self._exact.compile(problem, problem.harness.services[0], submission)

    async def judge(self, problem: Problem, submission: Submission, seed: int) -> Judged:
        """Every service of the harness."""
        runs: list[ServiceRun] = []
        for index, service in enumerate(problem.harness.services):
            runs.append(await self._exact.run(problem, service, submission, seed, with_syntax=index == 0))
        assert runs[0].syntax is not None
        return Judged(runs, runs[0].syntax, Path.EXACT)

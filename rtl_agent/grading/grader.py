"""`Grader`: a problem and a submission -> `Grade`. asyncio in front, a limited number of boxes behind."""

import asyncio
import os
import time
from collections.abc import Sequence
from types import TracebackType

from rtl_agent.grading.exact import ServiceRun
from rtl_agent.grading.extract import extract
from rtl_agent.grading.grade import Diagnostic, Grade, Outcome, Stage, StageName
from rtl_agent.grading.interface_stage import InterfaceStage
from rtl_agent.grading.paths import Judged, Path, Paths
from rtl_agent.grading.reward import STAGED, RewardWeights, reward
from rtl_agent.grading.seed import job_seed
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Problem
from rtl_agent.sandbox import BubblewrapSandbox, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain, ToolMissing, find_toolchain

_TRIES = 2  # an infrastructure fault is tried again once


class CannotGrade(Exception):
    """The problem needs what is not here: another simulator, or a judge of prose."""


class Grader:
    """Grades any number of submissions at once, `jobs` of them at a time."""

    def __init__(
        self,
        *,
        weights: RewardWeights = STAGED,
        jobs: int | None = None,
        timeout_seconds: float = 120.0,
        path: Path = Path.AUTO,
        sandbox: Sandbox | None = None,
        toolchain: Toolchain | None = None,
    ) -> None:
        jobs = jobs or os.cpu_count() or 1
        self._weights = weights
        self._toolchain = toolchain or find_toolchain()
        self._toolchain.tool("iverilog")
        # Each job may hold a fresh box and a warm one of either cocotb generation; one more is the interface checker's.
        sandbox = sandbox or BubblewrapSandbox(3 * jobs + 1)
        self._paths = Paths(sandbox, self._toolchain, jobs=jobs, timeout_seconds=timeout_seconds, path=path)
        self._interface = InterfaceStage(sandbox, self._toolchain)
        self._turns = asyncio.Semaphore(jobs)

    async def __aenter__(self) -> "Grader":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._paths.aclose()
        await self._interface.aclose()

    async def grade_reply(self, problem: Problem, reply: str) -> Grade:
        """Judge what a model said."""
        return await self.grade(problem, extract(problem, reply))

    async def grade(self, problem: Problem, submission: Submission, *, as_given: bool = False) -> Grade:
        """Judge files. Targets left as they were given are invalid, unless `as_given` asks to judge them."""
        if problem.needs is not Needs.OPEN_TOOLS:
            raise CannotGrade(f"{problem.id} needs {NEEDS_IN_WORDS[problem.needs]}")
        if submission.unusable is not None:
            return self._invalid(problem, submission, submission.unusable)
        if not as_given and not submission.changes(problem):
            return self._invalid(problem, submission, "every file is exactly as it was given")
        fault: Exception | None = None
        for _ in range(_TRIES):
            try:
                async with self._turns:
                    return await self._judge(problem, submission)
            except (SandboxError, ToolMissing, OSError) as error:
                fault = error
        return self._error(problem, submission, fault)

    def _invalid(self, problem: Problem, submission: Submission, reason: str) -> Grade:
        stages = (Stage(StageName.FORMAT, False, notes=(reason, *submission.refused)),)
        earned = reward(Outcome.INVALID, stages, self._weights)
        return Grade(problem.id, Outcome.INVALID, stages, reward=earned, reasons=(reason, *submission.refused))

    def _error(self, problem: Problem, submission: Submission, fault: Exception | None) -> Grade:
        earned = reward(Outcome.ERROR, (), self._weights)
        return Grade(
            problem.id,
            Outcome.ERROR,
            reward=earned,
            reasons=(f"{type(fault).__name__}: {fault}",),
            seed=job_seed(problem, submission),
        )

    async def _judge(self, problem: Problem, submission: Submission) -> Grade:
        started = time.perf_counter()
        seed = job_seed(problem, submission)
        interface, slang = await self._interface.check(problem, submission)
        checked = time.perf_counter()
        if self._weights.tests == 0:
            compiled = await self._paths.compile(problem, submission)
            judged = Judged((), compiled, Path.EXACT, "no weight on tests: nothing was simulated")
        else:
            judged = await self._paths.judge(problem, submission, seed)
        runs, compiled = judged.runs, judged.syntax
        syntax = _syntax_stage(compiled, runs)
        tests = _tests_stage(runs)
        stages = (
            Stage(StageName.FORMAT, True, 1.0, submission.refused),
            interface,
            syntax,
            tests,
        )
        outcome = Outcome.PASSED if tests.passed else Outcome.FAILED
        reasons = [*(interface.notes if interface.passed is False else ()), *syntax.notes, *tests.notes]
        found: list[Diagnostic] = [*compiled.diagnostics]
        found += [line for run in runs for line in run.diagnostics]
        found += [line for line in slang if not syntax.passed or line.severity == "error"]
        cpu = compiled.cpu_seconds + sum(run.cpu_seconds for run in runs)
        return Grade(
            problem_id=problem.id,
            outcome=outcome,
            stages=stages,
            tests=tuple(test for run in runs for test in run.verdict.tests),
            diagnostics=tuple(dict.fromkeys(found)),
            reward=reward(outcome, stages, self._weights),
            reasons=() if outcome is Outcome.PASSED else tuple(dict.fromkeys(reasons)),
            timings={
                "interface": checked - started,
                "services": time.perf_counter() - checked,
                "total": time.perf_counter() - started,
                "cpu": cpu,
            },
            tools=self._toolchain.versions(problem.harness.flavour),
            seed=seed,
            path=judged.path,
            path_reason=judged.why,
            simulations=sum(run.verdict.simulations for run in runs),
            log=next((run.log for run in runs if not run.verdict.passed), ""),
        )


def _syntax_stage(compiled: SyntaxReport, runs: Sequence[ServiceRun]) -> Stage:
    """The harness may compile with includes or defines of its own: what it could compile does compile."""
    builds = sum(run.verdict.builds for run in runs)
    built = builds > 0 and not any(run.verdict.failed_builds for run in runs)
    passed = built or compiled.passed
    if passed:
        return Stage(StageName.SYNTAX, passed, float(passed))
    said = next((line for line in compiled.said.splitlines() if line.strip()), "it does not compile")
    return Stage(StageName.SYNTAX, False, 0.0, (f"it does not compile: {said.removeprefix('/code/')}",))


def _tests_stage(runs: Sequence[ServiceRun]) -> Stage:
    if not runs:
        return Stage(StageName.TESTS, None)
    passed = all(run.verdict.passed for run in runs)
    score = sum(run.verdict.score for run in runs) / len(runs)
    return Stage(StageName.TESTS, passed, score, tuple(reason for run in runs for reason in run.verdict.reasons))

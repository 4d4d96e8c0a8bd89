"""One job -> `Grade`: interface, syntax and every service of the harness."""

import time
from collections.abc import Sequence
from dataclasses import replace

from rtl_agent.grading.grade import Diagnostic, Grade, Outcome, Stage, StageName
from rtl_agent.grading.interface import ExpectedInterface, InterfaceChecker, expected_interface
from rtl_agent.grading.job import GradeJob
from rtl_agent.grading.partial import nothing_meant
from rtl_agent.grading.reward_terms import JudgedSubmission, measure
from rtl_agent.grading.services import ServiceRun
from rtl_agent.grading.simulation import Simulated, Simulation, SimulationMode
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport
from rtl_agent.grading.workspace import ensure_probe_unchanged
from rtl_agent.problems import CocotbVersion, Harness, Problem
from rtl_agent.sandbox import Sandbox, sandbox_note
from rtl_agent.toolchain import Toolchain

_MOST_PROBLEMS = 4096  # whose interfaces are remembered: a server that judges others' problems meets no end of them


class GradePipeline:
    """Holds the boxes that outlive a job: the interface checker's, and the warm ones of the fast path."""

    def __init__(
        self, sandbox: Sandbox, toolchain: Toolchain, *, jobs: int, timeout_seconds: float, path: SimulationMode
    ) -> None:
        self._sandbox = sandbox
        self._toolchain = toolchain
        self._simulation = Simulation(sandbox, toolchain, jobs=jobs, timeout_seconds=timeout_seconds, path=path)
        self._interface = InterfaceStage(sandbox, toolchain)

    async def aclose(self) -> None:
        await self._simulation.aclose()
        await self._interface.aclose()

    async def judge(self, job: GradeJob) -> Grade:
        started = time.perf_counter()
        problem, submission = job.problem, job.submission
        interface, slang = await self._interface.check(problem, submission)
        checked = time.perf_counter()
        if job.is_by_hand and job.simulate:
            judged = await self._simulation.judge_by_hand(problem, submission, job.seed, job.only, job.output)
        elif job.simulate:
            judged = await self._simulation.judge(problem, submission, job.seed, checks=job.checks)
        else:
            compiled = await self._simulation.compile(problem, submission)
            judged = Simulated((), compiled, SimulationMode.EXACT, "no weight on tests: nothing was simulated")
        ensure_probe_unchanged()
        runs, compiled = judged.runs, judged.syntax
        syntax = _syntax_stage(compiled, runs)
        tests = _tests_stage(runs)
        outcome = Outcome.PASSED if tests.passed else Outcome.FAILED
        if job.only and not runs:
            reason = nothing_meant(job.only, judged.names)
            return Grade(problem.id, Outcome.INVALID, reasons=(reason,), seed=job.seed, only=job.only)
        reasons = [*(interface.notes if interface.passed is False else ()), *syntax.notes, *tests.notes]
        found: list[Diagnostic] = [*compiled.diagnostics]
        found += [line for run in runs for line in run.diagnostics]
        found += [line for line in slang if not syntax.passed or line.severity == "error"]
        cpu = compiled.cpu_seconds + sum(run.cpu_seconds for run in runs)
        grade = Grade(
            problem_id=problem.id,
            outcome=outcome,
            stages=(Stage(StageName.FORMAT, True, 1.0, submission.refused), interface, syntax, tests),
            tests=tuple(test for run in runs for test in run.verdict.tests),
            diagnostics=tuple(dict.fromkeys(found)),
            reasons=() if outcome is Outcome.PASSED else tuple(dict.fromkeys(reasons)),
            timings={
                "interface": checked - started,
                "services": time.perf_counter() - checked,
                "total": time.perf_counter() - started,
                "cpu": cpu,
            },
            tools={**self._toolchain.versions(problem.harness.cocotb_version), **sandbox_note(self._sandbox)},
            seed=job.seed,
            path=judged.path,
            path_reason=judged.why,
            simulations=tuple(one for run in runs for one in run.verdict.simulations),
            readable=tuple(dict.fromkeys(path for run in runs for path in run.verdict.readable)),
            log=_printed(judged) if job.output else next((run.log for run in runs if not run.verdict.passed), ""),
            only=job.only,
        )
        if not job.terms:
            return grade
        judged_submission = JudgedSubmission(problem, submission, grade, self._sandbox, self._toolchain)
        return replace(grade, terms=await measure(job.terms, judged_submission))


def _printed(judged: Simulated) -> str:
    """What every tool printed, each part below its name."""
    parts = [("iverilog", judged.syntax.said), *((f"service {run.verdict.service}", run.log) for run in judged.runs)]
    return "\n".join(f"--- {name} ---\n{text.rstrip()}" for name, text in parts if text.strip())


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


class InterfaceStage:
    """Informs and rewards, never decides the outcome.

    It remembers what each harness expects: reading that takes longer than checking a design.
    """

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain) -> None:
        toolchain, cocotb_version = toolchain.here, CocotbVersion.V2  # the environment that has pyslang
        self._checker = InterfaceChecker(
            sandbox, toolchain.mounts(cocotb_version), toolchain.harness(cocotb_version).executable
        )
        self._expected: dict[str, tuple[Harness, tuple[ExpectedInterface, ...]]] = {}

    async def check(self, problem: Problem, submission: Submission) -> tuple[Stage, tuple[Diagnostic, ...]]:
        """The stage, and what slang has to say of the files."""
        report = await self._checker.check(self._expected_of(problem), submission.workspace(problem))
        share = report.matched / report.expected if report.expected else 0.0
        notes = report.differences or ((report.note,) if report.note else ())
        diagnostics = tuple(
            Diagnostic("slang", found.severity, found.file, found.line, found.message, found.column)
            for found in report.diagnostics
        )
        return Stage(StageName.INTERFACE, report.valid, share, notes), diagnostics

    async def aclose(self) -> None:
        await self._checker.aclose()

    def _expected_of(self, problem: Problem) -> tuple[ExpectedInterface, ...]:
        harness, expected = self._expected.get(problem.id, (None, ()))
        if harness is not problem.harness:
            expected = expected_interface(problem.harness)
            if len(self._expected) >= _MOST_PROBLEMS:
                self._expected.clear()
            self._expected[problem.id] = (problem.harness, expected)
        return expected

"""The interface stage of a grade: informs and rewards, never decides the outcome."""

from rtl_agent.grading.grade import Diagnostic, Stage, StageName
from rtl_agent.grading.interface import ExpectedInterface, InterfaceChecker, expected_interface
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import CocotbVersion, Harness, Problem
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain


class InterfaceStage:
    """Remembers what each harness expects: reading it off takes longer than checking a design."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain) -> None:
        cocotb_version = CocotbVersion.V2  # the environment that has pyslang
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
            self._expected[problem.id] = (problem.harness, expected)
        return expected

"""The interface stage: informs and rewards, never decides the outcome."""

from rtl_agent.grading.grade import Diagnostic, Stage, StageName
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain


class InterfaceStage:
    def __init__(self, sandbox: Sandbox, toolchain: Toolchain) -> None:
        self._sandbox, self._toolchain = sandbox, toolchain

    async def check(self, problem: Problem, submission: Submission) -> tuple[Stage, tuple[Diagnostic, ...]]:
        return Stage(StageName.INTERFACE, None), ()

    async def aclose(self) -> None:
        return None

"""Jobs in boxes of this process's event loop, a limited number of them at a time."""

import asyncio
import os
from collections.abc import Callable, Mapping

from rtl_agent.grading.cache_key import GRADER, grading_version
from rtl_agent.grading.executors.executor import ExecutorFault
from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.job import GradeJob, error_grade
from rtl_agent.grading.pipeline import GradePipeline
from rtl_agent.grading.reward_terms import RewardTermFault
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import CocotbVersion
from rtl_agent.sandbox import Sandbox, SandboxError, chosen_image, make_sandbox, sandbox_note
from rtl_agent.toolchain import Toolchain, ToolMissing, find_toolchain, image_toolchain

_TRIES = 2  # an infrastructure fault is tried again once
FAULTS = (SandboxError, ToolMissing, OSError, RewardTermFault)


class LocalExecutor:
    """`jobs` at a time; the others wait for a semaphore and cost a coroutine each."""

    def __init__(
        self,
        *,
        jobs: int | None = None,
        timeout_seconds: float = 120.0,
        path: SimulationMode = SimulationMode.AUTO,
        sandbox: Sandbox | None = None,
        toolchain: Toolchain | None = None,
    ) -> None:
        jobs = jobs or os.cpu_count() or 1
        tools = toolchain or find_toolchain()
        tools.tool("iverilog")
        # Each job may hold a fresh box and a warm one of either cocotb generation; one more is the interface checker's.
        sandbox = sandbox or make_sandbox(3 * jobs + 1)
        if image := chosen_image():
            tools = image_toolchain(sandbox, image, tools)
        self._toolchain, self._note = tools, sandbox_note(sandbox)
        # Of a sandbox whose boxes share their memory: one may have lost a process to what another one took.
        self._memory_kills: Callable[[], int] = getattr(sandbox, "memory_kills", lambda: 0)
        self._pipeline = GradePipeline(sandbox, self._toolchain, jobs=jobs, timeout_seconds=timeout_seconds, path=path)
        self._turns = asyncio.Semaphore(jobs)
        self._fingerprints: dict[CocotbVersion, Mapping[str, str]] = {}

    async def fingerprint(self, cocotb_version: CocotbVersion) -> Mapping[str, str]:
        if cocotb_version not in self._fingerprints:
            try:
                versions = self._toolchain.versions(cocotb_version)
            except ToolMissing as error:
                raise ExecutorFault(str(error)) from error
            self._fingerprints[cocotb_version] = {**versions, **self._note, GRADER: grading_version()}
        return self._fingerprints[cocotb_version]

    async def run(self, job: GradeJob) -> Grade:
        fault: Exception | None = None
        for _ in range(_TRIES):
            try:
                async with self._turns:
                    before = self._memory_kills()
                    grade = await self._pipeline.judge(job)
                if grade.outcome is Outcome.FAILED and self._memory_kills() != before:
                    raise SandboxError("memory ran out while the design was judged: have fewer jobs at once, or more")
                return grade
            except FAULTS as error:
                fault = error
        return error_grade(job, f"{type(fault).__name__}: {fault}")

    async def aclose(self) -> None:
        await self._pipeline.aclose()

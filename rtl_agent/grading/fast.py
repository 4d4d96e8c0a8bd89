"""The fast path: the same services and the same verdict, in boxes whose Python and simulator are warm."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rtl_agent.grading.harness_python import handles_waves, plain_file, pytest_command
from rtl_agent.grading.services import ServiceRun, kept_log, verdict_of
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.warm import WarmAnswer, WarmBox
from rtl_agent.grading.workspace import files_around, service_env
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import MIB, CommandResult, Ended, Sandbox
from rtl_agent.toolchain import Toolchain, ToolMissing


class FastPath:
    """Keeps warm boxes of both cocotb generations; at most as many run as there are jobs."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, *, timeout_seconds: float) -> None:
        self._sandbox, self._toolchain = sandbox, toolchain
        self._timeout = timeout_seconds
        self._idle: dict[str, list[WarmBox]] = {}

    def why_not(self, problem: Problem) -> str:
        """Why this problem needs the exact path; "" if it does not."""
        for service in problem.harness.services:
            if pytest_command(service) is None:
                return f"service {service.name} is more than one pytest command"
        try:
            self._toolchain.warm_start()
        except ToolMissing as missing:
            return str(missing)
        return ""

    async def run(
        self, problem: Problem, service: Service, submission: Submission, seed: int, *, checks: bool = False
    ) -> ServiceRun:
        """Collect without the design, put the design in, run; all in one forked process."""
        env = service_env(self._toolchain, problem, service, None, seed, checks=checks)
        if handles_waves(problem):
            env["RTL_AGENT_WAVES"] = "1"
        job = {
            "argv": pytest_command(service),
            "plain": plain_file(problem, service),
            "env": env,
            "files": files_around(problem),
            "design": dict(submission.files),
            "src_writable": service.src_writable,
            "wall_seconds": self._timeout,
            "cpu_seconds": int(self._timeout) + 1,
            "file_bytes": 64 * MIB,
        }
        async with self._warm_box(problem.harness.cocotb_version) as box:
            answer = await box.run(job)
        return _as_run(problem, service, submission, answer)

    @asynccontextmanager
    async def _warm_box(self, cocotb_version: str) -> AsyncIterator[WarmBox]:
        idle = self._idle.setdefault(cocotb_version, [])
        while idle and idle[-1].outdated:
            await idle.pop().aclose()
        if idle:
            box = idle.pop()
        else:
            box = WarmBox(self._sandbox, self._toolchain, cocotb_version)
            await box.start()
        try:
            yield box
        finally:
            if box.broken:
                await box.aclose()
            else:
                idle.append(box)

    async def aclose(self) -> None:
        for boxes in self._idle.values():
            while boxes:
                await boxes.pop().aclose()


def _as_run(problem: Problem, service: Service, submission: Submission, answer: WarmAnswer) -> ServiceRun:
    output = answer.output.encode()
    done = CommandResult(
        ended=_ended(answer),
        exit_code=answer.exit_code,
        stdout=output,
        stderr=b"",
        truncated=False,
        wall_seconds=answer.wall_seconds,
        cpu_seconds=answer.cpu_seconds,
        max_rss_bytes=0,
    )
    expected = [name for message in answer.messages if message.get("kind") == "collected" for name in message["items"]]
    verdict, diagnostics = verdict_of(problem, service, submission, expected, answer.messages, done)
    return ServiceRun(verdict, diagnostics, kept_log(done), answer.cpu_seconds, None)


def _ended(answer: WarmAnswer) -> Ended:
    if answer.ended in (Ended.WALL_TIME, Ended.OUTPUT):
        return Ended(answer.ended)
    return Ended.EXITED if answer.exit_code >= 0 else Ended.SIGNALLED

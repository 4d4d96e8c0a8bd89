"""The exact path: every service of a problem's harness, as CVDP runs it, each in a fresh box."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from rtl_agent.grading.channel import Channel, Message, open_channel
from rtl_agent.grading.diagnostics import icarus_diagnostics, verilator_diagnostics, yosys_diagnostics
from rtl_agent.grading.grade import Diagnostic
from rtl_agent.grading.seal import closed_harness
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport, check_syntax
from rtl_agent.grading.verdict import ServiceVerdict, judge_service
from rtl_agent.grading.workspace import RUNDIR, open_workspace, service_env, write_targets
from rtl_agent.problems import Harness, Problem, Service
from rtl_agent.sandbox import MIB, Box, CommandResult, Ended, Limits, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain

_LOG_CHARACTERS = 6000
_CHANCE = re.compile(r"\b(random|secrets|uuid|urandom|time|datetime|hash|id|numpy|np)\b")
_LOGS = (("lint_results.log", verilator_diagnostics), ("synth.log", yosys_diagnostics))


@dataclass(frozen=True)
class ServiceRun:
    """A verdict with what is kept for the reader."""

    verdict: ServiceVerdict
    diagnostics: tuple[Diagnostic, ...]
    log: str
    cpu_seconds: float
    syntax: SyntaxReport | None


class ExactPath:
    """Runs services; holds nothing but where and with which tools."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, *, timeout_seconds: float) -> None:
        self._sandbox = sandbox
        self._toolchain = toolchain
        self._limits = Limits(wall_seconds=timeout_seconds, cpu_seconds=timeout_seconds, file_bytes=64 * MIB)
        self._fixed_items: dict[tuple[str, str], tuple[Harness, list[str]]] = {}

    async def compile(self, problem: Problem, service: Service, submission: Submission) -> SyntaxReport:
        """The syntax stage alone."""
        with open_channel() as channel:
            async with open_workspace(self._sandbox, self._toolchain, problem, service, channel) as box:
                await write_targets(box, submission.files)
                env = service_env(self._toolchain, problem, service, channel, 0)
                async with closed_harness(box, problem, service, (), env):
                    return await check_syntax(box, problem, service, submission, env)

    async def run(
        self, problem: Problem, service: Service, submission: Submission, seed: int, *, with_syntax: bool
    ) -> ServiceRun:
        """Collect the expected tests without the design, put the design in, and let the service judge it."""
        with open_channel() as channel:
            async with open_workspace(self._sandbox, self._toolchain, problem, service, channel) as box:
                env = service_env(self._toolchain, problem, service, channel, seed)
                expected = await self._expected_items(box, problem, service, env, channel)
                await write_targets(box, submission.files)
                syntax = None
                if with_syntax:
                    async with closed_harness(box, problem, service, (), env):
                        syntax = await check_syntax(box, problem, service, submission, env)
                done, messages = await self._judge_in(box, problem, service, env, channel)
                verdict, diagnostics = verdict_of(problem, service, submission, expected, messages, done)
                if not verdict.passed:
                    diagnostics += tuple(await _logged_diagnostics(box))
        return ServiceRun(verdict, diagnostics, kept_log(done), done.cpu_seconds, syntax)

    async def _judge_in(
        self, box: Box, problem: Problem, service: Service, env: dict[str, str], channel: Channel
    ) -> tuple[CommandResult, list[Message]]:
        """The service's command. Where no harness Python runs, which would close /src, it is closed here."""
        fds = (channel.far_fd,)
        if runs_python(service):
            done = await box.run(service.argv, env=env, cwd=RUNDIR, limits=self._limits, pass_fds=fds)
            return done, channel.take()
        async with closed_harness(box, problem, service, service.argv, env) as named:
            done = await box.run(service.argv, env=env, cwd=RUNDIR, limits=self._limits, pass_fds=fds)
        return done, [*channel.take(), *({"kind": "readable", "path": path} for path in sorted(named))]

    async def _expected_items(
        self, box: Box, problem: Problem, service: Service, env: dict[str, str], channel: Channel
    ) -> list[str] | None:
        """The pytest items that there are without the design; None for a service that does not run pytest.

        Asked anew for each job, unless they cannot depend on its seed: collecting takes a third of a grade's CPU.
        """
        if not uses_pytest(service):
            return None
        key = (problem.id, service.name)
        harness, known = self._fixed_items.get(key, (None, []))
        if harness is problem.harness:
            return known
        collecting = {**env, "RTL_AGENT_COLLECT": "1"}
        done = await box.run(service.argv, env=collecting, cwd=RUNDIR, limits=self._limits, pass_fds=(channel.far_fd,))
        messages = channel.take()
        if not any(message.get("kind") == "hello" for message in messages):
            raise SandboxError(f"service {service.name} did not start: {_tail(done)}")
        items = [name for message in messages if message.get("kind") == "collected" for name in message["items"]]
        if not depends_on_chance(problem, service):
            self._fixed_items[key] = (problem.harness, items)
        return items


def uses_pytest(service: Service) -> bool:
    return any("pytest" in word for word in service.argv)


def runs_python(service: Service) -> bool:
    return any("pytest" in word or "python" in word for word in service.argv)


def kept_log(done: CommandResult) -> str:
    return (done.stdout + done.stderr).decode(errors="replace")[-_LOG_CHARACTERS:]


def verdict_of(
    problem: Problem,
    service: Service,
    submission: Submission,
    expected: Sequence[str] | None,
    messages: Sequence[Message],
    done: CommandResult,
) -> tuple[ServiceVerdict, tuple[Diagnostic, ...]]:
    """The verdict, and what the compiler said where the harness could not build."""
    verdict = _judge(problem, service, expected, messages, done)
    lines = (line for said in verdict.failed_builds for line in icarus_diagnostics(said))
    return verdict, tuple(dict.fromkeys(lines))


def simulates(problem: Problem, service: Service) -> bool:
    """Whether the Python files that a service's command names start cocotb's runner."""
    return "get_runner" in named_text(problem, service)


def depends_on_chance(problem: Problem, service: Service) -> bool:
    """Whether the items of a service may differ from job to job: what it runs draws numbers, looks at the clock, or
    imports other files of the harness, which may."""
    text = named_text(problem, service)
    own = {PurePosixPath(path).stem for path in problem.harness.files if path.endswith(".py")}
    imported = set(re.findall(r"\bimport\s+(\w+)|\bfrom\s+(\w+)", text))
    return bool(_CHANCE.search(text)) or any(name in own for pair in imported for name in pair) or not text


def named_text(problem: Problem, service: Service) -> str:
    """The Python files that a service's command names."""
    named = re.findall(r"/src/(\S+?\.py)", " ".join(service.argv))
    return "\n".join(problem.harness.files.get(f"src/{name}", "") for name in named)


def _judge(
    problem: Problem, service: Service, expected: Sequence[str] | None, messages: Sequence[Message], done: CommandResult
) -> ServiceVerdict:
    if expected is None:
        reasons = () if done.ok else (f"service {service.name}: {_how_ended(done)}",)
        readable = tuple(message["path"] for message in messages if message.get("kind") == "readable")
        return ServiceVerdict(service.name, done.ok, float(done.ok), reasons=reasons, readable=readable)
    if done.ok and not any(message.get("kind") == "session-end" for message in messages):
        raise SandboxError(f"service {service.name} ended well but said nothing on the channel: {_tail(done)}")
    verdict = judge_service(service.name, expected, messages)
    if not expected:
        verdict = replace(verdict, passed=False, reasons=(*verdict.reasons, "the harness has no tests"))
    if verdict.passed and simulates(problem, service) and not verdict.simulations:
        verdict = replace(verdict, passed=False, reasons=("no simulation reported to the grader",))
    if done.ok:
        return verdict
    ended = () if done.ended is Ended.EXITED else (f"service {service.name}: {_how_ended(done)}",)
    failure = (*ended, *verdict.reasons) or (f"service {service.name}: {_how_ended(done)}",)
    return replace(verdict, passed=False, score=min(verdict.score, 0.999), reasons=failure)


def _how_ended(done: CommandResult) -> str:
    match done.ended:
        case Ended.WALL_TIME:
            return f"stopped after {done.wall_seconds:.0f} s: the simulation does not end"
        case Ended.OUTPUT:
            return "stopped: it printed without end"
        case Ended.SIGNALLED:
            return f"killed by signal {-done.exit_code} after {done.cpu_seconds:.0f} s of CPU time"
        case Ended.EXITED:
            return f"exit code {done.exit_code}"


async def _logged_diagnostics(box: Box) -> list[Diagnostic]:
    """What lint and synthesis services wrote to the log files that CVDP's harnesses use."""
    found: list[Diagnostic] = []
    for name, parse in _LOGS:
        try:
            text = await box.read(f"{RUNDIR}/{name}")
        except (FileNotFoundError, ValueError):
            continue
        found += parse(text.decode(errors="replace"))
    return found


def _tail(done: CommandResult) -> str:
    words = (done.stderr or done.stdout).decode(errors="replace").strip()
    return f"{_how_ended(done)}; {words[-400:]}"

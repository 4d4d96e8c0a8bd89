"""The exact path: every service of a problem's harness, as CVDP runs it, each in a fresh box."""

from rtl_agent.grading.channel import Channel, Message, open_channel
from rtl_agent.grading.diagnostics import verilator_diagnostics, yosys_diagnostics
from rtl_agent.grading.dump import Dump
from rtl_agent.grading.grade import Diagnostic
from rtl_agent.grading.harness_python import depends_on_chance, runs_python, uses_pytest
from rtl_agent.grading.partial import ONLY
from rtl_agent.grading.seal import closed_harness
from rtl_agent.grading.services import ServiceRun, kept_log, last_words, verdict_of
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport, check_syntax
from rtl_agent.grading.workspace import RUNDIR, open_workspace, service_env, write_targets
from rtl_agent.problems import Harness, Problem, Service
from rtl_agent.sandbox import MIB, Box, CommandResult, Limits, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain

_LOGS = (("lint_results.log", verilator_diagnostics), ("synth.log", yosys_diagnostics))


class ExactPath:
    """Runs services; holds nothing but where and with which tools."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, *, timeout_seconds: float) -> None:
        self._sandbox = sandbox
        self._toolchain = toolchain
        self._limits = Limits(wall_seconds=timeout_seconds, cpu_seconds=timeout_seconds, file_bytes=64 * MIB)
        self._fixed_items: dict[tuple[str, str, str], tuple[Harness, list[str]]] = {}

    async def compile(self, problem: Problem, service: Service, submission: Submission) -> SyntaxReport:
        """The syntax stage alone."""
        with open_channel() as channel:
            async with open_workspace(self._sandbox, self._toolchain, problem, service, channel) as box:
                await write_targets(box, submission.files)
                env = service_env(self._toolchain, problem, service, channel, 0)
                async with closed_harness(box, problem, service, (), env):
                    return await check_syntax(box, problem, service, submission, env)

    async def run(
        self,
        problem: Problem,
        service: Service,
        submission: Submission,
        seed: int,
        *,
        with_syntax: bool,
        checks: bool = False,
        output: bool = False,
        dump: Dump | None = None,
    ) -> ServiceRun:
        """Collect the expected tests without the design, put the design in, and let the service judge it.

        With `output` pytest shows what passing tests printed as well, and most of it is kept. With `dump` the
        simulations' waves are written too, which changes nothing else.
        """
        with open_channel() as channel:
            async with open_workspace(self._sandbox, self._toolchain, problem, service, channel, dump) as box:
                env = service_env(self._toolchain, problem, service, channel, seed, checks=checks)
                env |= dump.env if dump else {}
                if output:
                    env["PYTEST_ADDOPTS"] = f"{env.get('PYTEST_ADDOPTS', '')} -rA".strip()
                expected = await self._expected_items(box, problem, service, env, channel)
                await write_targets(box, submission.files)
                syntax = None
                if with_syntax:
                    async with closed_harness(box, problem, service, (), env):
                        syntax = await check_syntax(box, problem, service, submission, env)
                done, messages = await self._judge_in(box, problem, service, env, channel)
                if dump:
                    await dump.collect(box, messages)
                verdict, diagnostics = verdict_of(problem, service, submission, expected, messages, done)
                if not verdict.passed:
                    diagnostics += tuple(await _logged_diagnostics(box))
        return ServiceRun(verdict, diagnostics, kept_log(done, whole=output), done.cpu_seconds, syntax)

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
        key = (problem.id, service.name, service.env.get(ONLY, ""))
        harness, known = self._fixed_items.get(key, (None, []))
        if harness is problem.harness:
            return known
        collecting = {**env, "RTL_AGENT_COLLECT": "1"}
        done = await box.run(service.argv, env=collecting, cwd=RUNDIR, limits=self._limits, pass_fds=(channel.far_fd,))
        messages = channel.take()
        if not any(message.get("kind") == "hello" for message in messages):
            raise SandboxError(f"service {service.name} did not start: {last_words(done)}")
        items = [name for message in messages if message.get("kind") == "collected" for name in message["items"]]
        if not depends_on_chance(problem, service):
            self._fixed_items[key] = (problem.harness, items)
        return items


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

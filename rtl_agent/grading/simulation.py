"""How a submission is simulated: exactly as CVDP runs it, or in warm processes where that gives the same verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rtl_agent.grading.exact import ExactPath
from rtl_agent.grading.fast import FastPath
from rtl_agent.grading.harness_python import uses_pytest
from rtl_agent.grading.hiding import HidingCheck
from rtl_agent.grading.job import service_seed
from rtl_agent.grading.netlist import netlist_runs
from rtl_agent.grading.partial import part_of, restricted
from rtl_agent.grading.services import ServiceRun
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain


class SimulationMode(StrEnum):
    """`auto` is `fast` where it can be, else `exact`."""

    EXACT = "exact"
    FAST = "fast"
    AUTO = "auto"


@dataclass(frozen=True)
class Simulated:
    """What the services showed, what the compiler said, and which mode was taken, and why."""

    runs: Sequence[ServiceRun]
    syntax: SyntaxReport
    path: str
    why: str = ""
    names: tuple[str, ...] = ()  # of all tests that there are, where only some were asked for


class Simulation:
    """Holds both modes; nothing above it knows which one ran."""

    def __init__(
        self,
        sandbox: Sandbox,
        toolchain: Toolchain,
        *,
        jobs: int,
        timeout_seconds: float,
        path: SimulationMode = SimulationMode.AUTO,
    ) -> None:
        self._exact = ExactPath(sandbox, toolchain, timeout_seconds=timeout_seconds)
        self._fast = FastPath(sandbox, toolchain, timeout_seconds=timeout_seconds)
        self._hiding = HidingCheck(sandbox, toolchain)
        self._path = path

    async def aclose(self) -> None:
        await self._fast.aclose()

    async def compile(self, problem: Problem, submission: Submission) -> SyntaxReport:
        """The syntax stage alone."""
        return await self._exact.compile(problem, problem.harness.services[0], submission)

    async def judge(self, problem: Problem, submission: Submission, seed: int, *, checks: bool = False) -> Simulated:
        """Every service of the harness, on one path; with `checks` those of each test are counted."""
        why = "asked for" if self._path is not SimulationMode.AUTO else ""
        if self._path is not SimulationMode.EXACT:
            obstacle = self._fast.why_not(problem)
            if not obstacle:
                try:
                    return await self._judge_fast(problem, submission, seed, why, checks)
                except SandboxError as error:
                    if self._path is SimulationMode.FAST:
                        raise
                    obstacle = f"the fast path failed: {error}"
            why = obstacle
        return await self._judge_exactly(problem, submission, seed, why, checks=checks)

    async def judge_by_hand(
        self, problem: Problem, submission: Submission, seed: int, only: Sequence[str], output: bool
    ) -> Simulated:
        """For somebody who looks into one grade: only some tests, or with all that the tools print."""
        why = "only some tests were asked for" if only else "the tools' output was asked for"
        if not only:
            return await self._judge_exactly(problem, submission, seed, why, output=output)
        seeds = _seeds(problem, seed)
        runs: list[ServiceRun] = []
        names: list[str] = []
        syntax: SyntaxReport | None = None
        for service in problem.harness.services:
            asked = restricted(problem, service, only)
            names += [] if uses_pytest(service) else [service.name]
            if asked is None:
                continue
            first = syntax is None
            run = await self._exact.run(
                problem, asked, submission, seeds[service.name], with_syntax=first, output=output
            )
            syntax = run.syntax if first else syntax
            names += run.verdict.names
            if (part := part_of(run, only)) is not None:
                runs.append(part)
        syntax = syntax or SyntaxReport(True, (), "", 0.0)
        return Simulated(runs, syntax, SimulationMode.EXACT, why, tuple(names))

    async def _judge_fast(
        self, problem: Problem, submission: Submission, seed: int, why: str, checks: bool
    ) -> Simulated:
        seeds = _seeds(problem, seed)

        async def run(service: Service) -> ServiceRun:
            return await self._fast.run(problem, service, submission, seeds[service.name])

        seeded = [(service, seeds[service.name]) for service in problem.harness.services]
        runs = [await self._fast.run(problem, one, submission, own, checks=checks) for one, own in seeded]
        runs = await netlist_runs(problem, await self._hiding.look(problem, submission, runs), run)
        return Simulated(runs, await self._syntax(problem, submission, runs), SimulationMode.FAST, why)

    async def _syntax(self, problem: Problem, submission: Submission, runs: Sequence[ServiceRun]) -> SyntaxReport:
        """What the harness has compiled does compile; the compiler is asked again only where it has not."""
        if sum(run.verdict.builds for run in runs) and not any(run.verdict.failed_builds for run in runs):
            return SyntaxReport(True, (), "", 0.0)
        return await self.compile(problem, submission)

    async def _judge_exactly(
        self,
        problem: Problem,
        submission: Submission,
        seed: int,
        why: str,
        *,
        checks: bool = False,
        output: bool = False,
    ) -> Simulated:
        seeds = _seeds(problem, seed)
        runs: list[ServiceRun] = []
        for index, service in enumerate(problem.harness.services):
            own = seeds[service.name]
            run = await self._exact.run(
                problem, service, submission, own, with_syntax=index == 0, checks=checks, output=output
            )
            runs.append(run)
        syntax = runs[0].syntax
        assert syntax is not None

        async def run_again(service: Service) -> ServiceRun:
            return await self._exact.run(problem, service, submission, seeds[service.name], with_syntax=False)

        runs = await netlist_runs(problem, await self._hiding.look(problem, submission, runs), run_again)
        return Simulated(runs, syntax, SimulationMode.EXACT, why)


def _seeds(problem: Problem, seed: int) -> dict[str, int]:
    return {service.name: service_seed(seed, number) for number, service in enumerate(problem.harness.services)}

"""Real problems with the files that they give: CPU as CVDP runs the harness, against a whole grade on the fast path.

Minutes of work, so each problem's numbers are appended to a file as they come, and a second run goes on where the first
one was ended.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rtl_agent.bench.cold import Cold
from rtl_agent.bench.meter import Meter
from rtl_agent.grading import Grader, Submission, submit
from rtl_agent.grading.harness_python import simulates
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Needs, Problem, Service
from rtl_agent.sandbox import BubblewrapSandbox, Ended
from rtl_agent.toolchain import Toolchain

LEAST_GAIN = 4.0  # what we hold ourselves to, in sum
SECONDS = 60.0  # for a service, on either side


@dataclass(frozen=True)
class Real:
    """One problem. `ended`: every simulation came to its end by itself, on both sides."""

    id: str
    simulations: int
    cold: float  # CPU seconds
    fast: float
    path: str  # the way that the grade took; auto may choose the exact one
    ended: bool


def runnable(problems: Sequence[Problem]) -> list[Problem]:
    """Those that open tools can judge and that give at least one of the files they ask for, with the services that
    simulate: what Verilator and Yosys take is theirs on both sides."""
    found = [p for p in problems if p.needs is Needs.OPEN_TOOLS and any(target in p.context for target in p.targets)]
    return [replace(p, harness=replace(p.harness, services=_simulating(p))) for p in found if _simulating(p)]


def _simulating(problem: Problem) -> tuple[Service, ...]:
    return tuple(service for service in problem.harness.services if simulates(problem, service))


async def measure(
    problems: Sequence[Problem], toolchain: Toolchain, rows: Path, *, on_row: Callable[[Real], None] = lambda row: None
) -> list[Real]:
    """A row for each problem; those that the file has already are taken from it."""
    known = {row.id: row for row in read(rows)}
    cold = Cold(BubblewrapSandbox(1), toolchain)
    found = []
    async with Grader(jobs=1, path=SimulationMode.AUTO, toolchain=toolchain, timeout_seconds=SECONDS) as grader:
        for problem in {problem.harness.cocotb_version: problem for problem in problems}.values():
            await grader.grade(problem, _given(problem), as_given=True)  # starts what stays warm
        for problem in problems:
            row = known.get(problem.id) or await _one(cold, grader, problem)
            if problem.id not in known:
                with rows.open("a") as stream:
                    stream.write(json.dumps(asdict(row)) + "\n")
            found.append(row)
            on_row(row)
    return found


def read(rows: Path) -> list[Real]:
    return [Real(**json.loads(line)) for line in rows.read_text().splitlines()] if rows.exists() else []


async def _one(cold: Cold, grader: Grader, problem: Problem) -> Real:
    given = _given(problem)
    results = await cold.every_service(problem, given, SECONDS)
    meter = Meter()
    grade = await grader.grade(problem, given, as_given=True)
    used = meter.stop()
    stopped = any(result.ended is not Ended.EXITED for result in results)
    return Real(
        id=problem.id,
        simulations=len(grade.simulations),
        cold=round(sum(result.cpu_seconds for result in results), 3),
        fast=round(used.cpu, 3),
        path=grade.path,
        ended=not stopped and not any("stopped after" in reason for reason in grade.reasons),
    )


def _given(problem: Problem) -> Submission:
    return submit(problem, {path: problem.context[path] for path in problem.targets if path in problem.context})

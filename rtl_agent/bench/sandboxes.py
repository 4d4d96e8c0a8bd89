"""What a grade takes in each sandbox, in turns within one run: wall time, because a daemon's CPU is not below us."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from statistics import median

from rtl_agent.bench.cold import BaselineFailed
from rtl_agent.bench.subjects import fresh
from rtl_agent.grading import Grader, Outcome
from rtl_agent.grading.executors import LocalExecutor
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem
from rtl_agent.sandbox import BubblewrapSandbox, make_sandbox
from rtl_agent.toolchain import Toolchain

PATHS = (SimulationMode.EXACT, SimulationMode.FAST)
FAST_IN_A_ROW = 5  # each round
_BOXES = 4  # one job: a fresh box, a warm one of either cocotb, and the interface checker's


@dataclass
class InSandbox:
    """One sandbox: milliseconds of each grade of the arbiter, by path, round by round; the first, which starts boxes,
    apart."""

    sandbox: str
    first: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, path: str) -> float:
        return median(self.rounds[path])

    def ratio(self, path: str, under: "InSandbox") -> float:
        """The median of the ratios within each round: what else the machine did then is in both."""
        return median(a / b for a, b in zip(self.rounds[path], under.rounds[path], strict=True))

    def to_json(self) -> dict[str, object]:
        return asdict(self)


async def measure(
    names: Sequence[str],
    problem: Problem,
    rounds: int,
    toolchain: Toolchain,
    *,
    on_step: Callable[[], None] = lambda: None,
) -> list[InSandbox]:
    found = {name: InSandbox(name) for name in names}
    async with AsyncExitStack() as stack:
        graders = {
            (name, path): await stack.enter_async_context(_grader(name, path, toolchain))
            for name in names
            for path in PATHS
        }
        for (name, path), grader in graders.items():
            found[name].first[path] = await _milliseconds(grader, problem)
            on_step()
        for number in range(rounds):
            first = number % len(names)
            for name in (*names[first:], *names[:first]):
                for path in PATHS:
                    times = FAST_IN_A_ROW if path is SimulationMode.FAST else 1
                    taken = [await _milliseconds(graders[name, path], problem) for _ in range(times)]
                    found[name].rounds.setdefault(path, []).append(median(taken))
                    on_step()
    return list(found.values())


def steps(names: Sequence[str], rounds: int) -> int:
    return len(names) * len(PATHS) * (rounds + 1)


@asynccontextmanager
async def _grader(name: str, path: SimulationMode, toolchain: Toolchain) -> AsyncIterator[Grader]:
    executor = LocalExecutor(jobs=1, path=path, sandbox=make_sandbox(_BOXES, name), toolchain=toolchain)
    try:
        async with Grader(path=path, executor=executor) as grader:
            yield grader
    finally:
        await executor.aclose()


async def _milliseconds(grader: Grader, problem: Problem) -> float:
    begun = time.perf_counter()
    grade = await grader.grade(problem, fresh(problem))
    if grade.outcome is not Outcome.PASSED:
        raise BaselineFailed(f"{problem.id}: {grade.outcome}: {'; '.join(grade.reasons)}")
    return (time.perf_counter() - begun) * 1000


def against(results: Sequence[InSandbox]) -> InSandbox:
    """What the others are compared with: bubblewrap, else the first."""
    return next((one for one in results if one.sandbox == BubblewrapSandbox.name), results[0])

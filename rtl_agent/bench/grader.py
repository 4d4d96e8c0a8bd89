"""CPU for each grade, side by side in one run: as CVDP runs it, the exact path, the fast path, and what is least."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from rtl_agent.bench.cold import BaselineFailed, Cold
from rtl_agent.bench.meter import Meter, Used
from rtl_agent.bench.subjects import ARBITER, fresh
from rtl_agent.grading import Grader, Outcome
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.toolchain import Toolchain

COLD, EXACT, FAST, OWN, FLOOR = "as CVDP runs it", "exact", "fast", "own", "floor"
COMPILE = "compile"  # the compiler's part of OWN
FAST_IN_A_ROW = 5  # each round; the meter has ticks of 10 ms for what a warm box's jobs used
LEAST_GAIN, MOST_OVER_OWN = 8.0, 1.3  # what we hold ourselves to, on the arbiter


@dataclass
class Measured:
    """CPU milliseconds of each variant, round by round, for one problem; the first grade of a path apart."""

    problem: str
    rounds: dict[str, list[float]] = field(default_factory=dict)
    first: dict[str, Used] = field(default_factory=dict)

    def add(self, variant: str, cpu_seconds: float) -> None:
        self.rounds.setdefault(variant, []).append(cpu_seconds * 1000)

    def median(self, variant: str) -> float:
        return median(self.rounds[variant])

    def ratio(self, over: str, under: str) -> float:
        """The median of the ratios within each round: what else the machine did then is in both."""
        return median(a / b for a, b in zip(self.rounds[over], self.rounds[under], strict=True))

    def to_json(self) -> dict[str, object]:
        ratios = {f"{over} : {under}": self.ratio(over, under) for over, under in self.pairs()}
        return {
            "problem": self.problem,
            "cpu_ms": {name: {"median": median(ms), "min": min(ms), "all": ms} for name, ms in self.rounds.items()},
            "ratios": ratios,
            "first_grade": {path: {"cpu_ms": u.cpu * 1000, "wall_ms": u.wall * 1000} for path, u in self.first.items()},
        }

    def pairs(self) -> list[tuple[str, str]]:
        wanted = [(COLD, EXACT), (COLD, FAST), (FAST, OWN), (FAST, FLOOR)]
        return [pair for pair in wanted if set(pair) <= self.rounds.keys()]


async def measure(
    problems: Mapping[str, Problem],
    rounds: int,
    toolchain: Toolchain,
    *,
    variants: Sequence[str] = (COLD, EXACT, FAST, OWN, FLOOR),
    on_step: Callable[[], None] = lambda: None,
) -> list[Measured]:
    """Each round runs every variant of every problem once, beginning with another one each time."""
    cold = Cold(BubblewrapSandbox(1), toolchain)
    results = {name: Measured(name) for name in problems}
    async with (
        Grader(jobs=1, path=SimulationMode.EXACT, toolchain=toolchain) as exact,
        Grader(jobs=1, path=SimulationMode.FAST, toolchain=toolchain) as fast,
    ):
        for name, problem in problems.items():  # fills disk caches, starts warm boxes and interface checkers
            for path, grader in ((EXACT, exact), (FAST, fast)):
                if path in variants:
                    results[name].first[path] = await _grades(grader, problem, 1)
        runs: dict[str, Callable[[Problem, Measured], Awaitable[None]]] = {
            COLD: lambda p, m: _cold(cold, p, m),
            EXACT: lambda p, m: _graded(exact, EXACT, 1, p, m),
            FAST: lambda p, m: _graded(fast, FAST, FAST_IN_A_ROW, p, m),
            OWN: lambda p, m: _own(cold, p, m),
            FLOOR: lambda p, m: _floor(cold, p, m),
        }
        for number in range(rounds):
            for name, problem in problems.items():
                turn = number % len(variants)
                for variant in (*variants[turn:], *variants[:turn]):
                    if variant != FLOOR or name == ARBITER:
                        await runs[variant](problem, results[name])
                    on_step()
    return list(results.values())


async def _cold(cold: Cold, problem: Problem, into: Measured) -> None:
    into.add(COLD, await cold.as_cvdp(problem, fresh(problem)))


async def _own(cold: Cold, problem: Problem, into: Measured) -> None:
    found = await cold.own_python(problem, fresh(problem))
    into.add(OWN, found["compile"] + found["python"])
    into.add(COMPILE, found["compile"])


async def _floor(cold: Cold, problem: Problem, into: Measured) -> None:
    into.add(FLOOR, await cold.floor(problem, fresh(problem)))


async def _graded(grader: Grader, variant: str, count: int, problem: Problem, into: Measured) -> None:
    into.add(variant, (await _grades(grader, problem, count)).per(count).cpu)


async def _grades(grader: Grader, problem: Problem, count: int) -> Used:
    """Everything that these grades made this process and those below it do, boxes that open and close included."""
    submissions = [fresh(problem) for _ in range(count)]
    meter = Meter()
    grades = [await grader.grade(problem, submission) for submission in submissions]
    used = meter.stop()
    for grade in grades:
        if grade.outcome is not Outcome.PASSED:
            raise BaselineFailed(f"{problem.id}: {grade.outcome}: {'; '.join(grade.reasons)}")
    return used

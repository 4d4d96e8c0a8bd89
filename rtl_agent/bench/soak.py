"""Thousands of grades in a row on the fast path: no `error`, no wrong verdict, flat memory, nothing left behind."""

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from random import Random

from rtl_agent.bench.meter import Belongings, belongings
from rtl_agent.bench.subjects import ARBITER, INVERTER, MOD, fresh, subjects
from rtl_agent.grading import Grade, Grader, Outcome, Submission
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem, load_near_misses
from rtl_agent.processes import descendants, own_rss_bytes, pss_bytes
from rtl_agent.sandbox import MIB
from rtl_agent.toolchain import Toolchain

_PORTS = "module dut(input a, output y);\n  assign y = ~a;\n"
_WRONG = _PORTS.replace("~a", "a")
HOSTILE = {
    "ends the simulation": f"{_PORTS}  initial $finish;\nendmodule\n",
    "fails the simulation": f"{_PORTS}  initial #1 $fatal;\nendmodule\n",
    "forges the result file": _WRONG
    + '  integer f;\n  final begin f = $fopen("/code/rundir/sim_build/results.xml");\n'
    + '    $fwrite(f, "<testsuites><testsuite><testcase name=\\"inverts\\"/></testsuite></testsuites>");\n'
    + "  end\nendmodule\n",
    "claims success": f'{_WRONG}  initial $display("test_runner.py::test_dut PASSED\\n1 passed");\nendmodule\n',
    "is too large": f"{_WRONG}  wire [1 << 28:0] w = {{1 << 28{{a}}}};\nendmodule\n",
}
_HANG = f"{_PORTS}  reg r = 0;\n  initial forever #0 r = ~r;\nendmodule\n"
_EVERY_HANG, _EVERY_HOSTILE = 500, 50


@dataclass(frozen=True)
class Sent:
    """A submission, what it is, and the outcome that it must get."""

    kind: str
    problem: Problem
    submission: Submission
    outcome: Outcome


def mixture(count: int, seed: int = 1) -> Iterator[Sent]:
    """The same mixture for the same count."""
    random = Random(seed)
    problems = subjects()
    small = problems[INVERTER]
    misses = [miss for miss in load_near_misses() if miss.problem_id in (ARBITER, MOD)]
    hostile = sorted(HOSTILE)
    for number in range(count):
        if number % _EVERY_HANG == _EVERY_HANG // 2:
            yield Sent("does not end", small, fresh(small, {"rtl/dut.sv": _HANG}), Outcome.FAILED)
        elif number % _EVERY_HOSTILE == _EVERY_HOSTILE // 2:
            text = HOSTILE[hostile[number // _EVERY_HOSTILE % len(hostile)]]
            yield Sent("hostile", small, fresh(small, {"rtl/dut.sv": text}), Outcome.FAILED)
        elif (dice := random.random()) < 0.60:
            problem = problems[random.choices((INVERTER, ARBITER, MOD), (8, 1, 1))[0]]
            yield Sent("right", problem, fresh(problem), Outcome.PASSED)
        elif dice < 0.70:
            miss = random.choice(misses)
            problem = problems[miss.problem_id]
            yield Sent("wrong", problem, fresh(problem, dict(miss.files)), Outcome.FAILED)
        elif dice < 0.90:
            wire = _PORTS.replace("~a", "a") + "endmodule\n"
            yield Sent("wrong", small, fresh(small, {"rtl/dut.sv": wire}), Outcome.FAILED)
        else:
            yield Sent("does not compile", small, fresh(small, {"rtl/dut.sv": _PORTS}), Outcome.FAILED)


FLAT_MIB = 2.0  # for each 1,000 grades; a worker that kept a grade's 16 kB of output would grow by 16
_SETTLED = 0.2  # of the samples: caches and code objects are filled by then


@dataclass(frozen=True)
class Sample:
    """Memory after so many grades."""

    grades: int
    host_mib: float
    boxes_mib: float


@dataclass
class Soak:
    grades: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)  # more than before, by what it is

    @property
    def host_slope(self) -> float:
        """MiB for each 1,000 grades."""
        return slope([(sample.grades, sample.host_mib) for sample in self.samples])

    @property
    def boxes_slope(self) -> float:
        return slope([(sample.grades, sample.boxes_mib) for sample in self.samples])

    @property
    def good(self) -> bool:
        flat = self.host_slope < FLAT_MIB and self.boxes_slope < FLAT_MIB
        return flat and not self.outcomes[Outcome.ERROR] and not self.unexpected and not any(self.left.values())

    def to_json(self) -> dict[str, object]:
        slopes = {"host": self.host_slope, "boxes": self.boxes_slope}
        counted = {"outcomes": dict(self.outcomes), "kinds": dict(self.kinds)}
        samples = [asdict(sample) for sample in self.samples]
        rest = {"grades": self.grades, "unexpected": self.unexpected, "samples": samples, "left": self.left}
        return {**rest, **counted, "mib_per_1000_grades": slopes, "good": self.good}


def slope(points: list[tuple[int, float]]) -> float:
    """Least squares over the samples after the first fifth, for each 1,000 grades."""
    points = points[int(len(points) * _SETTLED) :]
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return 1000 * sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


async def run(
    grades: int,
    toolchain: Toolchain,
    *,
    jobs: int = 2,
    timeout_seconds: float = 10.0,
    sample_every: int = 100,
    on_grade: Callable[[Soak], None] = lambda soak: None,
) -> Soak:
    """`jobs` at a time. Memory is sampled while nothing runs."""
    soak = Soak()
    before = await _used_once(toolchain, jobs, timeout_seconds)
    async with Grader(
        jobs=jobs, timeout_seconds=timeout_seconds, path=SimulationMode.FAST, toolchain=toolchain
    ) as grader:

        async def one(sent: Sent) -> None:
            _note(soak, sent, await grader.grade(sent.problem, sent.submission))
            on_grade(soak)

        batch: list[Sent] = []
        for number, sent in enumerate(mixture(grades), start=1):
            batch.append(sent)
            if len(batch) == sample_every or number == grades:
                await asyncio.gather(*(one(each) for each in batch))
                batch.clear()
                boxes = pss_bytes(descendants()) / MIB
                soak.samples.append(Sample(soak.grades, own_rss_bytes() / MIB, boxes))
    soak.left = belongings().more_than(before)
    return soak


async def _used_once(toolchain: Toolchain, jobs: int, timeout_seconds: float) -> Belongings:
    """What a process holds for good after its first grades, such as one uid for each box."""
    async with Grader(
        jobs=jobs, timeout_seconds=timeout_seconds, path=SimulationMode.FAST, toolchain=toolchain
    ) as grader:
        first = [sent for sent in mixture(6 * jobs) if sent.kind in ("right", "does not compile")]
        await asyncio.gather(*(grader.grade(sent.problem, sent.submission) for sent in first))
    gc.collect()
    return belongings()


def _note(soak: Soak, sent: Sent, grade: Grade) -> None:
    soak.grades += 1
    soak.outcomes[grade.outcome.value] += 1
    soak.kinds[sent.kind] += 1
    if grade.outcome is not sent.outcome or grade.path != SimulationMode.FAST:
        why = "; ".join(grade.reasons)[:300]
        soak.unexpected.append(f"{sent.kind}, {sent.problem.id}: {grade.outcome} on the {grade.path} path: {why}")

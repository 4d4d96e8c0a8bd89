"""Grades for each second, CPU for each grade and memory for each worker, with more and more jobs at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean

from rtl_agent.bench.cold import BaselineFailed, Cold
from rtl_agent.bench.meter import Meter
from rtl_agent.bench.subjects import fresh
from rtl_agent.grading import Grader, Outcome
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem
from rtl_agent.processes import descendants, private_bytes, pss_bytes
from rtl_agent.sandbox import MIB, BubblewrapSandbox
from rtl_agent.toolchain import Toolchain

JOBS = (1, 2, 4, 8)
COLD, FAST = "as CVDP runs it", "fast"


@dataclass(frozen=True)
class Throughput:
    """One path with one number of jobs; memory is that of every process below this one."""

    path: str
    jobs: int
    grades: int
    seconds: float
    cpu_ms: float  # for each grade
    idle_mib: float = 0.0  # PSS of warm boxes that wait, for each job
    private_mib: float = 0.0  # what no other process shares of it
    busy_mib: float = 0.0  # PSS while all of them grade, mean of samples, for each job
    latencies: tuple[float, ...] = ()  # wall seconds of each grade, from the moment it was asked for

    @property
    def per_second(self) -> float:
        return self.grades / self.seconds

    @property
    def p50(self) -> float:
        return self._latency(0.50)

    @property
    def p95(self) -> float:
        return self._latency(0.95)

    def _latency(self, part: float) -> float:
        return sorted(self.latencies)[int(part * (len(self.latencies) - 1))]

    def to_json(self) -> dict[str, object]:
        found = {**asdict(self), "per_second": self.per_second, "p50": self.p50, "p95": self.p95}
        del found["latencies"]
        return found


async def measure(
    problem: Problem,
    seconds: float,
    toolchain: Toolchain,
    *,
    jobs: Sequence[int] = JOBS,
    on_step: Callable[[], None] = lambda: None,
) -> list[Throughput]:
    """Up and down again through the numbers of jobs, so that a machine that gets busier does not favour either end."""
    found: list[Throughput] = []
    for count in (*jobs, *reversed(jobs)):
        found.append(await _fast(problem, seconds / 2, count, toolchain))
        on_step()
    both = [_together([one for one in found if one.jobs == count]) for count in jobs]
    return [await _cold(problem, seconds, min(2, max(jobs)), toolchain), *both]


async def _cold(problem: Problem, seconds: float, jobs: int, toolchain: Toolchain) -> Throughput:
    cold = Cold(BubblewrapSandbox(jobs), toolchain)
    used: list[float] = []

    async def one() -> None:
        used.append(await cold.as_cvdp(problem, fresh(problem)))

    await one()
    used.clear()
    times, passed = await _for(seconds, jobs, one)
    return Throughput(COLD, jobs, len(times), passed, sum(used) / len(times) * 1000, latencies=times)


async def _fast(problem: Problem, seconds: float, jobs: int, toolchain: Toolchain) -> Throughput:
    async with Grader(jobs=jobs, path=SimulationMode.FAST, toolchain=toolchain) as grader:

        async def one() -> None:
            grade = await grader.grade(problem, fresh(problem))
            if grade.outcome is not Outcome.PASSED:
                raise BaselineFailed(f"{problem.id}: {grade.outcome}: {'; '.join(grade.reasons)}")

        await asyncio.gather(*(one() for _ in range(2 * jobs)))  # starts the boxes
        meter = Meter()
        times, passed = await _for(seconds, jobs, one)
        cpu = meter.stop().cpu
        waiting = descendants()
        idle, private = pss_bytes(waiting), private_bytes(waiting)
        busy = await _while_busy(jobs, one)
    waits, own, works = (size / MIB / jobs for size in (idle, private, busy))
    return Throughput(FAST, jobs, len(times), passed, cpu / len(times) * 1000, waits, own, works, times)


async def _for(seconds: float, jobs: int, one: Callable[[], Awaitable[None]]) -> tuple[tuple[float, ...], float]:
    """How long each took, and all of them together, by `jobs` tasks that never pause."""
    started, done = time.perf_counter(), list[float]()

    async def worker() -> None:
        while (began := time.perf_counter()) - started < seconds:
            await one()
            done.append(time.perf_counter() - began)

    await asyncio.gather(*(worker() for _ in range(jobs)))
    return tuple(done), time.perf_counter() - started


async def _while_busy(jobs: int, one: Callable[[], Awaitable[None]]) -> float:
    working = asyncio.gather(*(one() for _ in range(3 * jobs)))
    samples = []
    while not working.done():
        samples.append(pss_bytes(descendants()))
        await asyncio.sleep(0.05)
    await working
    return mean(samples)


def _together(parts: Sequence[Throughput]) -> Throughput:
    grades = sum(part.grades for part in parts)
    cpu = sum(part.cpu_ms * part.grades for part in parts) / grades
    idle, private, busy = (
        mean(sizes) for sizes in zip(*((p.idle_mib, p.private_mib, p.busy_mib) for p in parts), strict=True)
    )
    times = tuple(seconds for part in parts for seconds in part.latencies)
    seconds = sum(part.seconds for part in parts)
    return Throughput(parts[0].path, parts[0].jobs, grades, seconds, cpu, idle, private, busy, times)

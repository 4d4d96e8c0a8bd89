"""A test of a graded answer -> its waves in a folder: candidate.vcd, reference.vcd, waves.json for the page."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.grading import Grade, Submission, TestResult, submit
from rtl_agent.grading.dump import DumpedSimulation
from rtl_agent.problems import Problem
from rtl_agent.waves.reader import read_in_child
from rtl_agent.waves.simulate import NoWaves, WaveSimulator, service_named, simulation_of, unlike_grade
from rtl_agent.waves.window import Failure

CANDIDATE, REFERENCE, WAVES = "candidate.vcd", "reference.vcd", "waves.json"

Say = Callable[[str], None]


@dataclass(frozen=True)
class WavesJob:
    """Whose waves are wanted: `test` is one of the grade's."""

    problem: Problem
    submission: Submission
    grade: Grade
    test: TestResult


def chosen_test(grade: Grade, name: str) -> TestResult:
    """The test of that name, of several the first that failed; of a pytest item the first one in it that failed."""
    named = [test for test in grade.tests if test.name == name]
    if not named:
        raise NoWaves(f"The grade has no test {name[:200]!r}.")
    whole = sorted(named, key=lambda test: test.passed is not False)[0]
    inside = [test for test in grade.tests if test.item == whole.name and not whole.item]
    return next((test for test in inside if test.passed is False), inside[0] if inside else whole)


async def make_waves(job: WavesJob, folder: Path, simulator: WaveSimulator, say: Say) -> dict[str, Any]:
    """What `waves.json` holds: `candidate` and `reference` as the page takes them.

    NoWaves or VcdError, with a sentence, where there are none.
    """
    say("The test is simulated again.")
    run = _Run(job, folder, simulator)
    ran = await run.candidate()
    await run.reference(say)
    say("The waves are read.")
    found = run.read()
    end, wanted = found["candidate"]["end_ns"], job.test.time_ns or 0.0
    if not found["candidate"]["complete"] and wanted > end > 0:
        # What fits into the largest file ends before the failure: as much again, around it.
        say("The waves are too long: the test is simulated again, written from shortly before its failure.")
        start = max(0.0, wanted - end / 2)
        ran = await run.candidate(start)
        await run.reference(say, start)
        found = run.read()
        run.notes.append(f"the file begins at {start:g} ns: all of the simulation would be too large")
    unlike = [f"not as in the grade: {sentence}" for sentence in unlike_grade(job.grade, job.test.service, ran)]
    found["candidate"]["notes"] = [*unlike, *run.notes, *found["candidate"]["notes"]]
    (folder / WAVES).write_text(json.dumps(found))
    return found


class _Run:
    """The two simulations of a job, and what is learnt of them."""

    def __init__(self, job: WavesJob, folder: Path, simulator: WaveSimulator) -> None:
        self.job, self.notes = job, list[str]()
        self._folder, self._simulator = folder, simulator
        self._service = service_named(job.problem, job.test.service)
        self._own: DumpedSimulation | None = None
        self._other: DumpedSimulation | None = None

    async def candidate(self, from_ns: float = 0.0) -> Sequence[TestResult]:
        job = self.job

        def choose(simulations: Sequence[DumpedSimulation]) -> list[DumpedSimulation]:
            self._own = simulation_of(job.test, simulations)
            return [self._own] if self._own else []

        tests = await self._run(job.submission, CANDIDATE, choose, from_ns)
        if self._own is None:
            raise NoWaves(f"No simulation was started for this test: {_first_line(job.test.message)}")
        if not (self._folder / CANDIDATE).stat().st_size:
            raise NoWaves("This simulation wrote no waves: it did not begin, or too many simulations ran before it.")
        return tests

    async def reference(self, say: Say, from_ns: float = 0.0) -> None:
        """The simulation with the same number and seed: up to this one a harness does the same with every design."""
        files = self.job.problem.reference
        if not files or self._own is None:
            return
        say("The reference is simulated with the same seed.")
        number, item = self._own.number, self._own.item

        def choose(simulations: Sequence[DumpedSimulation]) -> list[DumpedSimulation]:
            same = [one for one in simulations if (one.number, one.item) == (number, item)]
            self._other = same[0] if same else None
            return same[:1]

        await self._run(submit(self.job.problem, files), REFERENCE, choose, from_ns)
        if self._other is None or not (self._folder / REFERENCE).stat().st_size:
            self._other = None
            self.notes.append("the reference has no such simulation")
        elif self._other.seed != self._own.seed:
            self.notes.append("the reference ran with another seed: its stimulus is another one")

    async def _run(
        self,
        submission: Submission,
        name: str,
        choose: Callable[[Sequence[DumpedSimulation]], list[DumpedSimulation]],
        from_ns: float,
    ) -> Sequence[TestResult]:
        def keep(_: DumpedSimulation, data: bytes) -> None:
            (self._folder / name).write_bytes(data)

        return await self._simulator.simulate(
            self.job.problem, self._service, submission, self.job.grade.seed, keep, choose, from_ns
        )

    def read(self) -> dict[str, Any]:
        assert self._own is not None
        test = self.job.test
        failure = Failure(test.time_ns, test.message, _began(self._own, test), test.passed is False)
        reference = self._folder / REFERENCE if self._other else None
        began = _began(self._other, test) if self._other else 0.0
        return read_in_child(self._folder / CANDIDATE, failure, reference, began)


def _began(simulation: DumpedSimulation, test: TestResult) -> float:
    """When the test before it ended, in ns. Tests of a simulation run, and report, one after the other."""
    before = 0.0
    for name, message in simulation.tests.items():
        if name == test.name:
            break
        before = max(before, float(message.get("time_ns") or 0.0))
    return before


def _first_line(message: str | None) -> str:
    return next((line.strip() for line in (message or "").splitlines() if line.strip()), "it did not compile")[:300]

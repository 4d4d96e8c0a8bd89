"""Grades of many designs of one problem, and what all of them together told: errors, time, tests, tools."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence

from rtl_agent.audit.mutants import was_stopped
from rtl_agent.audit.trees import Files
from rtl_agent.grading import Grade, Grader, Outcome, submit
from rtl_agent.problems import Problem

SHORT_LIMIT = 6.0  # seconds of a service for designs that should fail, where a right one takes a tenth of that


class Trials:
    """Grades trials of one problem, and keeps what all of them told."""

    def __init__(self, grader: Grader, quick: Grader, problem: Problem) -> None:
        self._grader, self._trials, self.problem = grader, quick, problem
        self.errors: list[str] = []
        self.hangs = 0
        self.tests: tuple[str, ...] = ()
        self.tools: Mapping[str, str] = {}
        self._right: dict[str, float] = {}
        self._other: dict[str, float] = {}

    async def right(self, files: Files) -> Grade:
        """Of a design that should pass. How long it takes decides how long others may take."""
        grade = await self._grade(self._grader, files)
        self._remember(grade, right=True)
        if grade.outcome is Outcome.PASSED and grade.timings.get("cpu", 0.0) > SHORT_LIMIT / 10:
            self._trials = self._grader
        return grade

    async def grade_all(self, designs: Sequence[Files]) -> list[Grade]:
        return await self._all([self._grade(self._trials, files) for files in designs])

    async def grade_named(self, designs: Mapping[str, Files]) -> dict[str, Grade]:
        return dict(zip(designs, await self.grade_all(list(designs.values())), strict=True))

    async def grade_seeds(self, files: Files, seeds: Iterable[int]) -> list[Grade]:
        """The same design, each time with another stimulus."""
        return await self._all([self._grade(self._grader, files, seed) for seed in seeds])

    async def _all(self, grades: Sequence[Coroutine[None, None, Grade]]) -> list[Grade]:
        found = list(await asyncio.gather(*grades))
        for grade in found:
            self._remember(grade)
        return found

    async def _grade(self, grader: Grader, files: Files, seed: int | None = None) -> Grade:
        grade = await grader.grade(self.problem, submit(self.problem, files), as_given=True, seed=seed)
        if grader is not self._grader and was_stopped(grade) and grade.timings.get("cpu", 0.0) < SHORT_LIMIT / 2:
            return await self._grade(self._grader, files, seed)  # the machine was busy: it had hardly begun
        return grade

    def _remember(self, grade: Grade, *, right: bool = False) -> None:
        if grade.outcome is Outcome.ERROR:
            self.errors.append((*grade.reasons, "")[0][:300])
            return
        self.tools = grade.tools or self.tools
        self.hangs += was_stopped(grade)
        kept = self._right if right and grade.outcome is Outcome.PASSED else self._other
        for name in ("cpu", "total"):
            kept[name] = max(kept.get(name, 0.0), grade.timings.get(name, 0.0))
        if right and grade.outcome is Outcome.PASSED:
            self.tests = tuple(dict.fromkeys(test.name for test in grade.tests if test.item))

    def seconds(self, name: str) -> float | None:
        """Of the right design, else of the costliest trial."""
        found = (self._right or self._other).get(name)
        return None if found is None else round(found, 2)


def compiles(grade: Grade) -> bool:
    return all(stage.passed is not False for stage in grade.stages if stage.name.value == "syntax")

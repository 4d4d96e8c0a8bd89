"""One problem -> `Findings`: everything that can be tried on its harness, tried."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType

from rtl_agent.audit import harness_facts
from rtl_agent.audit.equivalence import Comparison
from rtl_agent.audit.findings import Findings, RightDesign
from rtl_agent.audit.mutants import fates_of_mutants, score_of, was_stopped
from rtl_agent.audit.trees import Files, Trees
from rtl_agent.grading import Grade, Grader, Outcome, submit
from rtl_agent.grading.box_worker import WorkerFailed
from rtl_agent.problems import NearMiss, Problem, problem_digest
from rtl_agent.sandbox import SandboxError, make_sandbox
from rtl_agent.toolchain import Toolchain, find_toolchain

EMPTY = "a file with only a comment"
AS_GIVEN = "the files as they were given"
# How outputs are driven -> what such a design is called.
TRIVIAL = {
    "ports": "ports and nothing else",
    "'0": "every output constant 0",
    "'1": "every output constant 1",
    "'x": "every output constant x",
    "inputs": "inputs passed through to outputs",
}
STUCK = {"0": "'0", "1": "'1", "x": "'x"}
SHORT_LIMIT = 15.0  # seconds of a service for designs that should fail, where a right one takes a tenth of that


@dataclass(frozen=True)
class AuditOptions:
    """How much is tried: `mutants` of each right design, and so many `seeds`; `seed` chooses among the mutants."""

    mutants: int = 40
    seeds: int = 20
    answers: int = 2  # verified answers of earlier runs, beside the reference
    seed: int = 0


class Auditor:
    """Audits any number of problems. Holds a few boxes of its own for slang and for comparisons.

    Args:
        grader: judges right designs.
        options: how much is tried.
        toolchain: the tools; None for those of this machine.
        quick: judges what is expected to fail, with SHORT_LIMIT as its time limit: a design that leaves a harness
            waiting for good takes all of its time. None: `grader` does.
    """

    def __init__(
        self,
        grader: Grader,
        options: AuditOptions | None = None,
        toolchain: Toolchain | None = None,
        quick: Grader | None = None,
    ) -> None:
        self._grader, self._quick, self._options = grader, quick or grader, options or AuditOptions()
        self._toolchain = toolchain or find_toolchain()
        self._sandbox = make_sandbox(4)
        self._trees = Trees(self._sandbox, self._toolchain)

    async def __aenter__(self) -> "Auditor":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._trees.aclose()

    async def audit(
        self, problem: Problem, near_misses: Sequence[NearMiss] = (), answers: Iterable[Files] = ()
    ) -> Findings:
        """Everything about one problem. `answers` are files that its harness has accepted before."""
        work = _Work(self._grader, self._quick, problem)
        known = _distinct(problem, answers, self._options.answers)
        grades = [await work.right(files) for _, files in known]
        right = [
            await self._right(work, origin, files, grade) for (origin, files), grade in zip(known, grades, strict=True)
        ]
        first = next((files for (_, files), one in zip(known, right, strict=True) if one.outcome == "passed"), None)
        telling_nothing = await self._trivial(work, [files for _, files in known])
        near = dict(
            zip(
                [miss.name for miss in near_misses],
                [grade.outcome.value for grade in await work.grade_all([miss.files for miss in near_misses])],
                strict=True,
            )
        )
        outputs: dict[str, dict[str, str]] = {}
        names, names_note, renamed, failed, seeds = "", "no right design is known", 0, 0, 0
        if first is not None:
            outputs = await self._outputs(work, first)
            names, names_note, renamed = await self._names(work, first)
            seeds = self._options.seeds
            failed = await self._failed_seeds(work, first)
        return Findings(
            problem_id=problem.id,
            digest=problem_digest(problem),
            right=tuple(right),
            trivial=telling_nothing.outcomes,
            trivial_note=telling_nothing.note,
            interface=telling_nothing.interface,
            near_misses=near,
            outputs=outputs,
            seeds=seeds,
            failed_seeds=failed,
            cpu_seconds=work.seconds("cpu"),
            wall_seconds=work.seconds("total"),
            hangs=work.hangs,
            names_inside=names,
            names_inside_note=names_note,
            renamed=renamed,
            unnamed=harness_facts.unnamed(problem),
            unmentioned=telling_nothing.unmentioned,
            checks=harness_facts.checks(problem),
            tests=work.tests,
            errors=tuple(dict.fromkeys(work.errors)),
            tools=work.tools,
            settings=self.settings(problem, [files for _, files in known]),
        )

    def settings(self, problem: Problem, answers: Iterable[Files]) -> dict[str, int]:
        """What an audit is made with; where any of it is another, the audit is made again."""
        known = _distinct(problem, answers, self._options.answers)
        return {**asdict(self._options), "answers": len(known) - (problem.reference is not None)}

    async def flaky(self, problem: Problem, files: Files) -> tuple[int, int] | None:
        """(failed, tried) of the same right design with other seeds; None for a design that is not right."""
        work = _Work(self._grader, self._quick, problem)
        grade = await work.right(files)
        if grade.outcome is not Outcome.PASSED:
            return None
        return await self._failed_seeds(work, files), self._options.seeds

    async def _failed_seeds(self, work: "_Work", files: Files) -> int:
        grades = await work.grade_seeds(files, range(self._options.seeds))
        return sum(grade.outcome is Outcome.FAILED for grade in grades)

    async def _right(self, work: "_Work", origin: str, files: Files, grade: Grade) -> RightDesign:
        problem, options = work.problem, self._options
        if grade.outcome is not Outcome.PASSED:
            return RightDesign(origin, grade.outcome.value, note=(*grade.reasons, "")[0][:300])
        design, parameters = harness_facts.design_of(problem, files), harness_facts.set_parameters(problem)
        try:
            modules = await self._trees.modules(design)
            if not modules:
                return RightDesign(origin, grade.outcome.value, note="slang finds no module in it")
            seed = f"{options.seed} {problem.id}"
            comparison = Comparison(self._sandbox, self._toolchain, design, modules, parameters, seed)
            mutants, every = await fates_of_mutants(
                self._trees, design, comparison, parameters, options.mutants, seed, work.grade_all
            )
        except (WorkerFailed, SandboxError) as fault:
            return RightDesign(origin, grade.outcome.value, note=f"it has no mutants: {fault}")
        return RightDesign(origin, grade.outcome.value, score_of(mutants, every), tuple(mutants))

    async def _trivial(self, work: "_Work", known: Sequence[Files]) -> "_TellingNothing":
        problem = work.problem
        designs: dict[str, Files] = {EMPTY: dict.fromkeys(problem.targets, "// nothing\n")}
        if any(text.strip() for text in problem.given.values()):
            designs[AS_GIVEN] = problem.given
        note = "the interface is not known: no right design, no given files and no module head are there"
        outputs: list[str] = []
        interface = ""
        for origin, files in (*(("a right design", one) for one in known), *harness_facts.interfaces_shown(problem)):
            try:
                design = harness_facts.design_of(problem, files)
                tops = [module for module in await self._trees.modules(design) if module.is_top]
                gutted = await self._trees.gutted(design) if tops else {}
            except WorkerFailed as fault:
                note = f"the interface could not be read: {fault}"
                continue
            if not gutted:
                continue
            interface, outputs = origin, [port.name for module in tops for port in module.outputs]
            note = "its ports are guessed: a design that fails says nothing" if origin == harness_facts.TOUCHED else ""
            note = note if outputs else "the module that the tests look at has no outputs: none can be constant"
            designs |= {TRIVIAL[how]: made for how, made in gutted.items() if outputs or how == "ports"}
            break
        grades = await work.grade_all(list(designs.values()))
        outcomes = {name: grade.outcome.value for name, grade in zip(designs, grades, strict=True)}
        unmentioned = () if interface == harness_facts.TOUCHED else harness_facts.unmentioned(problem, outputs)
        return _TellingNothing(outcomes, note, interface, unmentioned)

    async def _outputs(self, work: "_Work", files: Files) -> dict[str, dict[str, str]]:
        """Each output stuck at 0, 1 and x. One for which no such design can be made has no outcomes."""
        design = harness_facts.design_of(work.problem, files)
        found: dict[str, dict[str, str]] = {}
        try:
            modules = await self._trees.modules(design)
            for value, literal in STUCK.items():
                made = await self._trees.stuck_outputs(design, literal)
                grades = await work.grade_all(list(made.values()))
                for (module, output), grade in zip(made, grades, strict=True):
                    outcome = grade.outcome.value if _compiles(grade) else "broken"
                    found.setdefault(f"{module}.{output}", {})[value] = outcome
        except WorkerFailed:
            return found
        every = [f"{module.name}.{port.name}" for module in modules if module.is_top for port in module.outputs]
        return {name: found.get(name, {}) for name in every}

    async def _names(self, work: "_Work", files: Files) -> tuple[str, str, int]:
        """The right design with other names inside of it, but for those that the specification gives."""
        design = harness_facts.design_of(work.problem, files)
        try:
            made, names = await self._trees.renamed(design, harness_facts.said_words(work.problem))
        except WorkerFailed as fault:
            return "", f"it could not be rewritten: {fault}", 0
        if not names:
            return "", "the specification gives every name inside", 0
        (grade,) = await work.grade_all([made])
        if not _compiles(grade):
            return "", "with other names inside it does not compile", len(names)
        return grade.outcome.value, "" if grade.outcome is Outcome.PASSED else (*grade.reasons, "")[0][:200], len(names)


@dataclass(frozen=True)
class _TellingNothing:
    """What designs that tell nothing have shown: outcomes by design, why some could not be made, where their ports are
    from, and the outputs that no test has a name for."""

    outcomes: Mapping[str, str]
    note: str
    interface: str
    unmentioned: tuple[str, ...]


class _Work:
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
        if grader is not self._grader and was_stopped(grade) and grade.timings.get("cpu", 0.0) < SHORT_LIMIT / 3:
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


def _distinct(problem: Problem, answers: Iterable[Files], most: int) -> list[tuple[str, Files]]:
    """The reference, then verified answers that are no copies of it or of each other."""
    found: list[tuple[str, Files]] = []
    if problem.reference is not None:
        found.append(("reference", problem.reference))
    seen = {tuple(sorted(files.items())) for _, files in found}
    for files in answers:
        key = tuple(sorted(files.items()))
        if key not in seen and len(seen) < most + (problem.reference is not None):
            seen.add(key)
            found.append((f"answer {len(found) + (problem.reference is None)}", files))
    return found


def _compiles(grade: Grade) -> bool:
    return all(stage.passed is not False for stage in grade.stages if stage.name.value == "syntax")

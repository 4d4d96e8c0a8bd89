"""One problem -> `Findings`: everything that can be tried on its harness, tried."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from types import TracebackType

from rtl_agent.audit import harness_facts
from rtl_agent.audit.equivalence import SHORT, UNLIKE, Comparison
from rtl_agent.audit.findings import Findings, RightDesign
from rtl_agent.audit.mutants import fates_of_mutants, score_of
from rtl_agent.audit.trees import Design, Files, Module, Trees
from rtl_agent.audit.trials import Trials, compiles
from rtl_agent.grading import Grade, Grader, Outcome
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
    "clock": "every output follows the clock",
}
STUCK = {"0": "'0", "1": "'1", "x": "'x"}
_MOST_ROUNDS = 12  # of designs that tell nothing: each has the names that tests missed in the one before


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
        work = Trials(self._grader, self._quick, problem)
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
        work = Trials(self._grader, self._quick, problem)
        grade = await work.right(files)
        if grade.outcome is not Outcome.PASSED:
            return None
        return await self._failed_seeds(work, files), self._options.seeds

    async def _failed_seeds(self, work: Trials, files: Files) -> int:
        grades = await work.grade_seeds(files, range(self._options.seeds))
        return sum(grade.outcome is Outcome.FAILED for grade in grades)

    async def _right(self, work: Trials, origin: str, files: Files, grade: Grade) -> RightDesign:
        problem, options = work.problem, self._options
        if grade.outcome is not Outcome.PASSED:
            return RightDesign(origin, grade.outcome.value, note=(*grade.reasons, "")[0][:300])
        design, parameters = harness_facts.design_of(problem, files), harness_facts.set_parameters(problem)
        try:
            modules = await self._trees.modules(design)
            if not modules:
                return RightDesign(origin, grade.outcome.value, note="slang finds no module in it")
            comparison = self._comparison(problem, design, modules)
            mutants, every = await fates_of_mutants(
                self._trees, design, comparison, parameters, options.mutants, self._seed(problem), work.grade_all
            )
        except (WorkerFailed, SandboxError) as fault:
            return RightDesign(origin, grade.outcome.value, note=f"it has no mutants: {fault}")
        return RightDesign(origin, grade.outcome.value, score_of(mutants, every), tuple(mutants))

    def _seed(self, problem: Problem) -> str:
        return f"{self._options.seed} {problem.id}"

    def _comparison(self, problem: Problem, design: Design, modules: Sequence[Module]) -> Comparison:
        parameters = harness_facts.set_parameters(problem)
        return Comparison(self._sandbox, self._toolchain, design, modules, parameters, self._seed(problem))

    async def _trivial(self, work: Trials, known: Sequence[Files]) -> "_TellingNothing":
        problem = work.problem
        designs: dict[str, Files] = {EMPTY: dict.fromkeys(problem.targets, "// nothing\n")}
        if any(text.strip() for text in problem.given.values()):
            designs[AS_GIVEN] = problem.given
        note = "the interface is not known: no right design, no given files and no module head are there"
        outputs: list[str] = []
        interface = ""
        names = harness_facts.touched(problem)
        source: Design | None = None
        for origin, files in (*(("a right design", one) for one in known), *harness_facts.interfaces_shown(problem)):
            try:
                design = harness_facts.design_of(problem, files)
                tops = [module for module in await self._trees.modules(design) if module.is_top]
                gutted = await self._trees.gutted(design, names) if tops else {}
            except WorkerFailed as fault:
                note = f"the interface could not be read: {fault}"
                continue
            if not gutted:
                continue
            interface, outputs = origin, [port.name for module in tops for port in module.outputs]
            note = "its ports are guessed: a design that fails says nothing" if origin == harness_facts.TOUCHED else ""
            note = note if outputs else "the module that the tests look at has no outputs: none can be constant"
            source = design
            designs |= {TRIVIAL[how]: made for how, made in gutted.items() if outputs or how == "ports"}
            break
        graded = await work.grade_named(designs)
        if source is not None:
            graded |= await self._with_names_that_tests_miss(work, source, names, graded)
        outcomes = {name: graded[name].outcome.value for name in designs}
        unmentioned = () if interface == harness_facts.TOUCHED else harness_facts.unmentioned(problem, outputs)
        return _TellingNothing(outcomes, note, interface, unmentioned)

    async def _with_names_that_tests_miss(
        self, work: Trials, design: Design, names: dict[str, dict[str, int]], graded: Mapping[str, Grade]
    ) -> dict[str, Grade]:
        """Designs that fail for want of a name inside have it then: only what they do is to be judged."""
        waiting = {how: graded[name] for how, name in TRIVIAL.items() if name in graded}
        again: dict[str, Grade] = {}
        for _ in range(_MOST_ROUNDS):
            missed = {how: _missed(grade, names) for how, grade in waiting.items()}
            for top, name, width in chain.from_iterable(missed.values()):
                names.setdefault(top, {})[name] = width
            lacking = [how for how, new in missed.items() if new]
            try:
                gutted = await self._trees.gutted(design, names) if lacking else {}
            except WorkerFailed:
                break
            found = await work.grade_named({TRIVIAL[how]: gutted[how] for how in lacking if how in gutted})
            waiting = {how: found[TRIVIAL[how]] for how in lacking if TRIVIAL[how] in found}
            again |= found
        return again

    async def _outputs(self, work: Trials, files: Files) -> dict[str, dict[str, str]]:
        """Each output stuck at 0, 1 and x. One for which no such design can be made has no outcomes."""
        design = harness_facts.design_of(work.problem, files)
        found: dict[str, dict[str, str]] = {}
        try:
            modules = await self._trees.modules(design)
            for value, literal in STUCK.items():
                made = await self._trees.stuck_outputs(design, literal)
                grades = await work.grade_all(list(made.values()))
                for (module, output), grade in zip(made, grades, strict=True):
                    outcome = grade.outcome.value if compiles(grade) else "broken"
                    found.setdefault(f"{module}.{output}", {})[value] = outcome
        except WorkerFailed:
            return found
        every = [f"{module.name}.{port.name}" for module in modules if module.is_top for port in module.outputs]
        return {name: found.get(name, {}) for name in every}

    async def _names(self, work: Trials, files: Files) -> tuple[str, str, int]:
        """The right design with other names inside of it, but for those that the specification gives."""
        design = harness_facts.design_of(work.problem, files)
        try:
            made, names = await self._trees.renamed(design, harness_facts.said_words(work.problem))
        except WorkerFailed as fault:
            return "", f"it could not be rewritten: {fault}", 0
        if not names:
            return "", "the specification gives every name inside", 0
        (grade,) = await work.grade_all([made])
        if not compiles(grade):
            return "", "with other names inside it does not compile", len(names)
        if grade.outcome is not Outcome.PASSED and await self._does_else(work.problem, design, made):
            return "", "with other names inside it does something else: a name was not found everywhere", len(names)
        return grade.outcome.value, "" if grade.outcome is Outcome.PASSED else (*grade.reasons, "")[0][:200], len(names)

    async def _does_else(self, problem: Problem, design: Design, files: Files) -> bool:
        """Whether what should be the same design is another one: then the rewriting was wrong, not the tests."""
        comparison = self._comparison(problem, design, await self._trees.modules(design))
        (seen,) = await comparison.simulate([files], cycles=SHORT)
        return seen in UNLIKE


def _missed(grade: Grade, names: Mapping[str, Mapping[str, int]]) -> list[tuple[str, str, int]]:
    """(module, name, width) of what the tests looked for in vain, and could not be given before."""
    found = harness_facts.not_found(grade) if grade.outcome is Outcome.FAILED else []
    return [(top, name, width) for top, name, width in found if names.get(top, {}).get(name) not in (width, 1)]


@dataclass(frozen=True)
class _TellingNothing:
    """What designs that tell nothing have shown: outcomes by design, why some could not be made, where their ports are
    from, and the outputs that no test has a name for."""

    outcomes: Mapping[str, str]
    note: str
    interface: str
    unmentioned: tuple[str, ...]


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

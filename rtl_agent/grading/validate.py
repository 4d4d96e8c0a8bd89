"""Should a trainer trust this problem? Its reference must pass; an empty file, the given ones and near misses not."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.grader import Grader
from rtl_agent.grading.submission import submit
from rtl_agent.problems import Harness, NearMiss, Problem

NOTHING = "// nothing\n"


class Trust(StrEnum):
    """What a validation says of a problem."""

    TRUSTED = "trusted"
    UNTESTED = "untested"  # no reference: nobody has shown that a right answer passes
    DOUBTFUL = "doubtful"


@dataclass(frozen=True)
class Validation:
    """What the trials gave; None for one that the problem has no material for."""

    problem_id: str
    reference: Grade | None
    empty: Grade
    given: Grade | None
    doubts: tuple[str, ...]
    near_misses: Mapping[str, Grade] = field(default_factory=dict)  # by name

    @property
    def trust(self) -> Trust:
        if self.doubts:
            return Trust.DOUBTFUL
        return Trust.UNTESTED if self.reference is None else Trust.TRUSTED

    @property
    def trusted(self) -> bool:
        return self.trust is Trust.TRUSTED

    @property
    def grades(self) -> tuple[Grade, ...]:
        found = (self.reference, self.empty, self.given, *self.near_misses.values())
        return tuple(grade for grade in found if grade is not None)


async def validate_problem(grader: Grader, problem: Problem, near_misses: Sequence[NearMiss] = ()) -> Validation:
    """Grade the reference, files with only a comment, the targets as they were given, and the near misses."""
    reference = None
    if problem.reference is not None:
        reference = await grader.grade(problem, submit(problem, problem.reference), as_given=True)
    empty = await grader.grade(problem, submit(problem, dict.fromkeys(problem.targets, NOTHING)), as_given=True)
    given = None
    if any(text.strip() for text in problem.given.values()):
        given = await grader.grade(problem, submit(problem, problem.given), as_given=True)
    wrong = {miss.name: await grader.grade(problem, submit(problem, miss.files), as_given=True) for miss in near_misses}
    return Validation(problem.id, reference, empty, given, _doubts(problem, reference, empty, given, wrong), wrong)


_SAID = {
    Outcome.FAILED: "its reference fails",
    Outcome.INVALID: "its reference is invalid",
    Outcome.ERROR: "its reference could not be graded",
}


def _doubts(
    problem: Problem, reference: Grade | None, empty: Grade, given: Grade | None, wrong: Mapping[str, Grade]
) -> tuple[str, ...]:
    doubts = syntax_errors(problem.harness)
    if reference is not None and reference.outcome is not Outcome.PASSED:
        doubts.append(f"{_SAID[reference.outcome]}: {(*reference.reasons, '')[0]}")
    if empty.outcome is Outcome.PASSED:
        doubts.append("a file with only a comment passes")
    if given is not None and given.outcome is Outcome.PASSED:
        doubts.append("the files as given pass: nothing has to be done")
    doubts += [f"the near miss {name} passes" for name, grade in wrong.items() if grade.outcome is Outcome.PASSED]
    if not checks_anything(problem.harness):
        doubts.append("its harness has no assert and no raise: anything with the right ports passes")
    trials = {"an empty file": empty, "the files as given": given}
    trials |= {f"the near miss {name}": grade for name, grade in wrong.items()}
    for name, trial in trials.items():
        if trial is not None and trial.outcome is Outcome.ERROR:
            doubts.append(f"{name} could not be graded: {(*trial.reasons, '')[0]}")
    return tuple(doubts)


def syntax_errors(harness: Harness) -> list[str]:
    """A sentence for each Python file of the harness that is not valid Python."""
    found = []
    for path, text in harness.files.items():
        if path.endswith(".py"):
            try:
                ast.parse(text)
            except SyntaxError as error:
                found.append(f"syntax error in the harness: {path}, line {error.lineno}: {error.msg}")
            except (ValueError, RecursionError) as error:
                found.append(f"syntax error in the harness: {path}: {error}")
    return found


def checks_anything(harness: Harness) -> bool:
    """Whether any Python file of the harness can fail by its own words."""
    for path, text in harness.files.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return True  # it fails, if by accident
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert | ast.Raise):
                return True
            if isinstance(node, ast.Attribute) and node.attr in ("fail", "raises"):
                return True
    return False

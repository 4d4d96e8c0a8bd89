"""Should a trainer trust this problem? Its reference must pass; nothing, and the files as given, must not."""

import ast
from dataclasses import dataclass

from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.grader import Grader
from rtl_agent.grading.submission import submit
from rtl_agent.problems import Harness, Problem

NOTHING = "// nothing\n"


@dataclass(frozen=True)
class Validation:
    """What the three trials gave; None for one that the problem has no material for."""

    problem_id: str
    reference: Grade | None
    empty: Grade
    given: Grade | None
    doubts: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        return not self.doubts

    @property
    def grades(self) -> tuple[Grade, ...]:
        return tuple(grade for grade in (self.reference, self.empty, self.given) if grade is not None)


async def validate_problem(grader: Grader, problem: Problem) -> Validation:
    """Grade the reference, files with only a comment, and the targets as they were given."""
    reference = None
    if problem.reference is not None:
        reference = await grader.grade(problem, submit(problem, problem.reference), as_given=True)
    empty = await grader.grade(problem, submit(problem, dict.fromkeys(problem.targets, NOTHING)), as_given=True)
    given = None
    if any(text.strip() for text in problem.given.values()):
        given = await grader.grade(problem, submit(problem, problem.given), as_given=True)
    return Validation(problem.id, reference, empty, given, _doubts(problem, reference, empty, given))


def _doubts(problem: Problem, reference: Grade | None, empty: Grade, given: Grade | None) -> tuple[str, ...]:
    doubts: list[str] = []
    if reference is not None and reference.outcome is not Outcome.PASSED:
        doubts.append(f"its reference is {reference.outcome}: {(*reference.reasons, '')[0]}")
    if empty.outcome is Outcome.PASSED:
        doubts.append("a file with only a comment passes")
    if given is not None and given.outcome is Outcome.PASSED:
        doubts.append("the files as given pass: nothing has to be done")
    if not checks_anything(problem.harness):
        doubts.append("its harness has no assert and no raise: anything with the right ports passes")
    for name, grade in (("an empty file", empty), ("the files as given", given)):
        if grade is not None and grade.outcome is Outcome.ERROR:
            doubts.append(f"{name} could not be graded: {(*grade.reasons, '')[0]}")
    return tuple(doubts)


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

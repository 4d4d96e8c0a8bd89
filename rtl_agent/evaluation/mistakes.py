"""What kind of mistake an answer makes: told by its grade, by the reference, and by the near miss that it is.

Of a generated problem it is known which specification each near miss would be right for. An answer that compiles is
graded by the tests of these specifications too, and those that it passes name its mistake: a reversed priority is not
guessed from a text, it is simulated.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rtl_agent.grading import Grade, Outcome, StageName, SyncGrader, extract
from rtl_agent.problems import Problem
from rtl_agent.problems.generate import Instance, as_problem
from rtl_agent.problems.generate.instance import wrong_specs
from rtl_agent.report.reference import differences_to_references


class Mistake(StrEnum):
    FORMAT = "format"  # nothing usable was written
    SYNTAX = "syntax"
    INTERFACE = "interface"  # module, ports, directions, parameters
    WIDTH = "width"
    RESET = "reset"  # its kind or polarity, or the clock's edge
    ORDER = "order"  # the wrong end, the wrong direction, two things exchanged
    FUNCTION = "function"  # anything else that a test notices


_ORDER = (
    "reversed_priority",
    "reversed_pattern",
    "from_the_other_end",
    "other_direction",
    "codes_swapped",
    "codes_turned",
    "codes_in_order",
    "opcodes_swapped",
    "outputs_swapped",
)
_RESET = ("wrong_reset_polarity", "wrong_reset_kind", "wrong_clock_edge")
_WIDTH = ("one_bit_more", "one_bit_less")


@dataclass(frozen=True)
class Judged:
    """One answer. `instance` is what a generated problem was drawn as."""

    problem: Problem
    text: str
    grade: Grade
    instance: Instance | None = None


def kind_of_near_miss(name: str) -> Mistake:
    groups = {Mistake.ORDER: _ORDER, Mistake.RESET: _RESET, Mistake.WIDTH: _WIDTH}
    return next((kind for kind, names in groups.items() if name in names), Mistake.FUNCTION)


def kind_of_difference(text: str) -> Mistake:
    """Of a sentence about a design beside the reference."""
    if text.startswith("reset `"):
        return Mistake.RESET
    return Mistake.WIDTH if " wide, " in text else Mistake.INTERFACE


def mistakes(answers: Sequence[Judged], grader: SyncGrader) -> list[frozenset[Mistake]]:
    """Of each answer all kinds that were found; nothing for one that passed or could not be judged."""
    compared = [one for one in answers if _by_grade(one.grade) is None and one.problem.reference]
    pairs = [(one.problem.reference or {}, extract(one.problem, one.text).files) for one in compared]
    read = dict(zip(map(id, compared), differences_to_references(pairs), strict=True))
    found: list[frozenset[Mistake]] = []
    for one in answers:
        told = _by_grade(one.grade)
        if told is not None:
            found.append(told)
            continue
        kinds = {kind_of_difference(text) for text in read.get(id(one)) or ()}
        kinds |= {kind_of_difference(note) for note in one.grade.stage(StageName.INTERFACE).notes}
        if not kinds & {Mistake.INTERFACE, Mistake.WIDTH} and one.instance is not None:
            kinds |= _near_misses(one, one.instance, grader)
        found.append(frozenset(kinds or {Mistake.FUNCTION}))
    return found


def count(found: Iterable[frozenset[Mistake]]) -> Mapping[Mistake, int]:
    """How many answers make each kind of mistake; an answer may make several."""
    counted = Counter(kind for kinds in found for kind in kinds)
    return {kind: counted[kind] for kind in Mistake}


def _by_grade(grade: Grade) -> frozenset[Mistake] | None:
    """What the grade alone tells; None where the design must be looked at."""
    if grade.outcome in (Outcome.PASSED, Outcome.ERROR):
        return frozenset()
    if grade.outcome is Outcome.INVALID or grade.stage(StageName.FORMAT).passed is False:
        return frozenset({Mistake.FORMAT})
    if grade.stage(StageName.SYNTAX).passed is False:
        # A module of another name compiles by itself, and not as what the tests ask for.
        renamed = any(note.startswith("module `") for note in grade.stage(StageName.INTERFACE).notes)
        return frozenset({Mistake.INTERFACE if renamed else Mistake.SYNTAX})
    return None


def _near_misses(one: Judged, instance: Instance, grader: SyncGrader) -> set[Mistake]:
    wrong = list(wrong_specs(instance))
    grades = grader.grade_replies((as_problem(replace(instance, spec=spec)), one.text) for _, spec in wrong)
    passed = [name for (name, _), grade in zip(wrong, grades, strict=True) if grade.outcome is Outcome.PASSED]
    return {kind_of_near_miss(name) for name in passed}

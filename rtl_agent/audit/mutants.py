"""Mutants of a right design, graded by the problem's own harness; those that pass are told from the right design."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from rtl_agent.audit.choose import in_turn
from rtl_agent.audit.equivalence import LONG, SHORT, UNLIKE, Compared, Comparison
from rtl_agent.audit.findings import Fate, MutantFate, MutationScore, fates
from rtl_agent.audit.trees import Design, Files, Mutation, Trees
from rtl_agent.grading import Grade, Outcome, StageName

GradeAll = Callable[[Sequence[Files]], Awaitable[Sequence[Grade]]]


async def fates_of_mutants(
    trees: Trees,
    design: Design,
    comparison: Comparison,
    parameters: Sequence[str],
    count: int,
    seed: str,
    grade_all: GradeAll,
) -> tuple[list[MutantFate], int]:
    """Of `count` mutations, then of those that were tried in vain; and how many candidates there are."""
    every = await trees.mutations(design, parameters)
    waiting = in_turn(every, seed)
    found: list[MutantFate] = []
    vain: list[MutantFate] = []
    while batch := list(islice(waiting, count - len(found))):
        compile_ = await trees.that_compile(design, batch)
        grades = await grade_all([one.apply(design.files) for one in compile_])
        for one in await _judged(compile_, grades, design, comparison):
            (vain if one.fate in (Fate.BROKEN, Fate.HANGS) else found).append(one)
    return [*found, *vain], len(every)


async def _judged(
    mutations: Sequence[Mutation], grades: Sequence[Grade], design: Design, comparison: Comparison
) -> list[MutantFate]:
    """By their grades. Only those that pass are simulated beside the right design; and those that ended at the time
    limit, as one that never comes to rest by itself tells nothing of the tests."""
    passed = [one for one, grade in zip(mutations, grades, strict=True) if grade.outcome is Outcome.PASSED]
    stopped = [one for one, grade in zip(mutations, grades, strict=True) if was_stopped(grade)]
    told = await _told_apart(passed, design, comparison)
    beside = await comparison.simulate([one.apply(design.files) for one in stopped], cycles=SHORT)
    told |= {one: Fate.HANGS for one, seen in zip(stopped, beside, strict=True) if seen is Compared.HANGS}
    found = []
    for one, grade in zip(mutations, grades, strict=True):
        if grade.outcome is Outcome.ERROR:
            found.append(_fate(one, Fate.ERROR))
        elif one in told:
            found.append(_fate(one, told[one]))
        elif grade.stage(StageName.SYNTAX).passed is False:
            found.append(_fate(one, Fate.BROKEN))
        else:
            found.append(_fate(one, Fate.KILLED, failed_tests(grade)))
    return found


def was_stopped(grade: Grade) -> bool:
    """Whether it ended at the time limit."""
    return any(": stopped after" in reason for reason in grade.reasons)


async def _told_apart(mutations: Sequence[Mutation], design: Design, comparison: Comparison) -> dict[Mutation, Fate]:
    """Of those that pass: simulated for a short time, then for longer, then handed to Yosys."""
    fate: dict[Mutation, Fate] = dict.fromkeys(mutations, Fate.UNDECIDED)
    for cycles in (SHORT, LONG):
        left = [one for one in mutations if fate[one] is Fate.UNDECIDED]
        seen = await comparison.simulate([one.apply(design.files) for one in left], cycles=cycles)
        fate |= {one: Fate.SURVIVED for one, what in zip(left, seen, strict=True) if what in UNLIKE}
    # What waits for which event is not part of a proof: both sides must have the same clocks.
    same = [one for one in mutations if fate[one] is Fate.UNDECIDED and not _changes_events(one)]
    proofs = await comparison.prove([one.apply(design.files) for one in same])
    return fate | {one: Fate.EQUIVALENT for one, what in zip(same, proofs, strict=True) if what is Compared.PROVED}


def _changes_events(mutation: Mutation) -> bool:
    return mutation.group == "clock" or mutation.operator.startswith(("reset polarity", "asynchronous", "synchronous"))


def score_of(mutants: Sequence[MutantFate], candidates: int) -> MutationScore:
    counted = fates(mutants)
    return MutationScore(
        killed=counted[Fate.KILLED],
        survived=counted[Fate.SURVIVED],
        undecided=counted[Fate.UNDECIDED],
        equivalent=counted[Fate.EQUIVALENT],
        candidates=candidates,
        tried=len(mutants),
    )


def failed_tests(grade: Grade) -> tuple[str, ...]:
    """The cocotb tests that failed, else the pytest items; each once, however often it was run."""
    own = [test for test in grade.tests if test.passed is False]
    inner = [test.name for test in own if test.item]
    return tuple(dict.fromkeys(inner or [test.name for test in own]))


def _fate(mutation: Mutation, fate: Fate, killed_by: tuple[str, ...] = ()) -> MutantFate:
    return MutantFate(mutation.group, mutation.operator, mutation.file, mutation.line, fate, killed_by)

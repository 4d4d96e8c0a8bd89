"""Mutants of a right design, graded by the problem's own harness; those that pass are told from the right design."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtl_agent.audit.choose import in_turn
from rtl_agent.audit.equivalence import LONG, SHORT, Compared, Comparison
from rtl_agent.audit.findings import Fate, MutantFate, MutationScore, fates
from rtl_agent.audit.trees import Design, Mutation, Trees
from rtl_agent.grading import Grade, Outcome, StageName

_BATCH = 12


@dataclass(frozen=True)
class Candidate:
    """A mutation that compiles, and what simulation beside the right design has shown so far."""

    mutation: Mutation
    compared: Compared


async def candidates(
    trees: Trees, design: Design, comparison: Comparison, parameters: Sequence[str], count: int, seed: str
) -> tuple[list[Candidate], list[MutantFate], int]:
    """`count` mutations of all, those that were tried in vain, and how many there are."""
    every = await trees.mutations(design, parameters)
    waiting = list(in_turn(every, seed))
    found: list[Candidate] = []
    vain: list[MutantFate] = []
    while waiting and len(found) < count:
        batch, waiting = waiting[: max(_BATCH, count - len(found))], waiting[max(_BATCH, count - len(found)) :]
        compile_ = await trees.that_compile(design, batch)
        verdicts = await comparison.simulate([one.apply(design.files) for one in compile_], cycles=SHORT)
        for one, compared in zip(compile_, verdicts, strict=True):
            if compared in (Compared.BROKEN, Compared.HANGS):
                vain.append(_fate(one, Fate.BROKEN if compared is Compared.BROKEN else Fate.HANGS))
            elif len(found) < count:
                found.append(Candidate(one, compared))
    return found, vain, len(every)


async def judged(
    candidates: Sequence[Candidate], grades: Sequence[Grade], design: Design, comparison: Comparison
) -> list[MutantFate]:
    """By their grades; those that pass and were not seen to differ are simulated for longer, then handed to Yosys."""
    passed = [
        one
        for one, grade in zip(candidates, grades, strict=True)
        if grade.outcome is Outcome.PASSED and one.compared is not Compared.DIFFERS
    ]
    told = await _told_apart([one.mutation for one in passed], design, comparison)
    found = []
    for one, grade in zip(candidates, grades, strict=True):
        if grade.outcome is Outcome.ERROR:
            found.append(_fate(one.mutation, Fate.ERROR))
        elif grade.outcome is Outcome.PASSED:
            found.append(_fate(one.mutation, told.get(one.mutation, Fate.SURVIVED)))
        elif grade.stage(StageName.SYNTAX).passed is False:
            found.append(_fate(one.mutation, Fate.BROKEN))
        else:
            found.append(_fate(one.mutation, Fate.KILLED, failed_tests(grade)))
    return found


async def _told_apart(mutations: Sequence[Mutation], design: Design, comparison: Comparison) -> Mapping[Mutation, Fate]:
    longer = await comparison.simulate([one.apply(design.files) for one in mutations], cycles=LONG)
    fate = {
        one: Fate.SURVIVED if compared is Compared.DIFFERS else Fate.UNDECIDED
        for one, compared in zip(mutations, longer, strict=True)
    }
    # What waits for which event is not part of a proof: both sides must have the same clocks.
    same = [one for one in mutations if fate[one] is Fate.UNDECIDED and not _changes_events(one)]
    for one, compared in zip(same, await comparison.prove([one.apply(design.files) for one in same]), strict=True):
        if compared is Compared.PROVED:
            fate[one] = Fate.EQUIVALENT
    return fate


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

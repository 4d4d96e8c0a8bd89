"""What `dense` gives for the tests: bounded, most for who passes, never less for another test passed."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.grading import PRESETS, Grade, Outcome, Stage, StageName, TestResult
from rtl_agent.grading.grade import Checks, Compared
from rtl_agent.grading.progress import MOST, progress_of
from rtl_agent.grading.reward import reward

Key = tuple[str, str, str]  # service, item, test

counts = st.integers(0, 50)
compared = st.builds(
    lambda n, matched, common: Compared(n, min(matched, n), min(max(common, 1), n)), st.integers(1, 50), counts, counts
)
checks = st.builds(
    lambda held, more, signals, whole, time: Checks(
        evaluated=held + more,
        held=held,
        other=0,
        changes_held=held,
        changes=held + more,
        whole=whole,
        time_ns=float(time),
        signals=signals,
    ),
    counts,
    counts,
    st.dictionaries(st.sampled_from(["grant", "valid", "count"]), compared),
    st.booleans(),
    counts,
)
# Services -> items -> number of cocotb tests in the item; 0: the item is the test.
harnesses = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=3)


def keys_of(harness: list[list[int]]) -> list[Key]:
    found = []
    for s, items in enumerate(harness):
        for i, size in enumerate(items):
            found += [(f"s{s}", f"i{i}", f"t{t}") for t in range(size)] or [(f"s{s}", "", f"i{i}")]
    return found


def share_passed(harness: list[list[int]], passed: set[Key]) -> float:
    """As verdict.py has it: by service, item and test."""
    services = []
    for s, items in enumerate(harness):
        own = [[key in passed for key in keys_of([*[[]] * s, items]) if f"i{i}" in key[1:]] for i in range(len(items))]
        services.append(fmean(fmean(map(float, one)) for one in own))
    return fmean(services)


def graded(harness: list[list[int]], passed: set[Key], found: Mapping[Key, Checks | None]) -> Grade:
    every = keys_of(harness)
    tests = [TestResult(name, (s, i, name) in passed, service=s, item=i, checks=found.get((s, i, name)))
             for s, i, name in every]  # fmt: skip
    for s, i in {(s, i) for s, i, _ in every if i}:
        tests.append(TestResult(i, all(key in passed for key in every if key[:2] == (s, i)), service=s))
    whole = set(every) <= passed
    score = 1.0 if whole else min(share_passed(harness, passed), 0.999)
    stages = (
        Stage(StageName.FORMAT, True, 1.0),
        Stage(StageName.SYNTAX, True, 1.0),
        Stage(StageName.TESTS, whole, score),
    )
    grade = Grade("x", Outcome.PASSED if whole else Outcome.FAILED, stages, tuple(tests))
    return grade


def earned(grade: Grade, right: Grade | None, services: int) -> float:
    progress = progress_of(grade, right, services)
    assert (progress is None) == (grade.outcome is Outcome.PASSED)
    return reward(grade.outcome, grade.stages, PRESETS["dense"], {}, progress).parts["tests"]


@given(harnesses, st.data())
def test_one_more_test_passed_is_never_worth_less(harness: list[list[int]], data: st.DataObject) -> None:
    every = keys_of(harness)
    passed = set(data.draw(st.lists(st.sampled_from(every))))
    more = passed | set(data.draw(st.lists(st.sampled_from(every))))
    some_checks = st.fixed_dictionaries({key: st.none() | checks for key in every})
    right_ones = data.draw(some_checks)
    right = graded(harness, set(every), right_ones) if data.draw(st.booleans()) else None
    few = earned(graded(harness, passed, data.draw(some_checks)), right, len(harness))
    many = earned(graded(harness, more, data.draw(some_checks)), right, len(harness))
    assert 0.0 <= few <= (1.0 if passed >= set(every) else MOST)
    if more > passed:
        assert many >= few - 1e-6
    if more >= set(every):
        assert many == 1.0


@given(checks, checks)
def test_more_checks_held_is_never_worth_less(own: Checks, right: Checks) -> None:
    key = ("s0", "i0", "t0")
    reference = graded([[1]], {key}, {key: right})
    further = replace(own, held=own.held + 1, changes_held=own.changes_held + 1, time_ns=own.time_ns + 1)
    less, more = (earned(graded([[1]], set(), {key: one}), reference, 1) for one in (own, further))
    assert less <= more <= MOST


def test_what_never_ran_has_nothing() -> None:
    assert earned(graded([[2]], set(), {}), None, 1) == 0.0


def test_the_wait_of_a_design_that_is_never_ready_earns_nothing() -> None:
    """Time alone is no progress, and neither are checks that go on expecting the same value."""
    key = ("s0", "i0", "t0")
    signal = {"grant": Compared(12, 12, 3)}
    right = Checks(12, 12, 0, changes_held=9, changes=9, whole=True, time_ns=100.0, signals=signal)
    waits = Checks(999, 999, 0, 0, 0, False, 9000.0, {"grant": Compared(999, 999, 999)})
    reference = graded([[1]], {key}, {key: right})
    assert earned(graded([[1]], set(), {key: waits}), reference, 1) == 0.0
    assert earned(graded([[1]], set(), {key: waits}), None, 1) == 0.0

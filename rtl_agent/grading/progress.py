"""How far a failed design came in its tests: `Progress`, from what their checks found (`reward=dense`). Pure.

    score = 0.9 * min(1, passed + worth * progress)

`passed` is the share of tests passed, as `graded` has it; `worth` is what the lightest single test adds to it;
`progress`, from 0 to 1, is the mean over the tests that did not pass. So passing one more test is always worth at least
as much as any progress in the others, and a failed design never has more than 0.9.

The progress of one test is the mean of two parts, both 0 for a design whose outputs never change:

* checks reached: of the checks that expect another value of a signal than the check of it before did, the share that
  held before the first check that did not hold. At most the share of a right design's simulation time.
* values matched: by signal, (matched - common) / (compared - common) as shares of what a right design compares, where
  the most common expected value makes `common`. Their mean over the signals of which different values are expected.

How many there are comes from the reference. Without one it is what the test asked in its second pass, and at least ten,
if that came to the end of the test; else twice what it asked, and at least ten more. Checks beyond that number count
against a design: one that makes a test's loop long gains nothing by it. A test that never ran has 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rtl_agent.grading.grade import Checks, Compared, Grade, Outcome, Progress, ProgressPart, StageName, TestResult

MOST = 0.9  # of the tests' weight: what a failed design can have
UNKNOWN_FACTOR, UNKNOWN_MORE = 2, 10  # how much a test may still ask where nobody knows


@dataclass(frozen=True)
class _Test:
    """One test that did not pass: what its checks found, and what those of a right design find."""

    name: str
    own: Checks | None
    right: Checks | None

    @property
    def asked(self) -> int:
        """Of a right design."""
        if self.right is not None:
            return self.right.changes
        return _expected(self.own.changes, self.own.whole) if self.own else 0

    @property
    def time(self) -> float | None:
        """The share of a right design's simulation time."""
        if self.own is None or self.right is None or self.right.time_ns <= 0:
            return None
        return min(1.0, self.own.time_ns / self.right.time_ns)

    @property
    def reached(self) -> float:
        if self.own is None or not self.asked:
            return 0.0
        share = min(self.own.changes_held, self.asked) / max(self.own.changes, self.asked)
        return min(share, 1.0 if self.time is None else self.time)

    @property
    def signals(self) -> Mapping[str, float]:
        """What of each signal matched that a constant would not; without signals that are always expected alike."""
        known = self.right or self.own
        if known is None or self.own is None:
            return {}
        found = {name: _matched(self.own.signals.get(name), one, self) for name, one in known.signals.items()}
        return {name: share for name, share in found.items() if share is not None}

    @property
    def progress(self) -> float:
        signals = self.signals
        return (self.reached + (fmean(signals.values()) if signals else 0.0)) / 2


def _expected(total: int, whole: bool) -> int:
    """How many checks there are where no reference tells: a design may have ended the loop that they are in."""
    return max(total, UNKNOWN_MORE) if whole else max(UNKNOWN_FACTOR * total, total + UNKNOWN_MORE)


def _matched(own: Compared | None, known: Compared, test: _Test) -> float | None:
    if known.commonest >= known.compared:
        return None
    own, known_is_whole = own or Compared(0, 0, 0), test.own is not None and test.own.whole
    asked = known.compared if test.right is not None else _expected(known.compared, known_is_whole)
    common = max(known.commonest / known.compared, own.commonest / own.compared if own.compared else 0.0)
    if common >= 1:  # it was kept at the common value where others are expected
        return 0.0
    return _within((min(own.matched, asked) / max(asked, own.compared) - common) / (1 - common))


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def progress_of(grade: Grade, right: Grade | None, services: int) -> Progress | None:
    """How far a design came that was judged and failed; None for any other.

    Args:
        grade: its grade, with counted checks.
        right: the reference's grade, with counted checks; None where there is none, or where it does not pass.
        services: of the problem's harness.
    """
    stage = grade.stage(StageName.TESTS)
    if grade.outcome is not Outcome.FAILED or stage.passed is None:
        return None
    if right is not None and right.outcome is not Outcome.PASSED:
        right = None
    listed = _single(grade.tests if right is None else right.tests)
    own = {_key(test): test for test in grade.tests}
    failed = [
        _Test(test.name, own[key].checks if key in own else None, test.checks if right else None)
        for key, test in ((_key(test), test) for test in listed)
        if not (key in own and own[key].passed)
    ]
    mean = fmean(test.progress for test in failed) if failed else 0.0
    score = MOST * min(1.0, stage.score + _lightest(grade.tests if right is None else right.tests, services) * mean)
    return Progress(round(score, 6), _parts(stage.score, listed, failed), _by_signal(failed), mean > 0)


def _key(test: TestResult) -> tuple[str, str, str]:
    return (test.service, test.item, test.name)


def _single(tests: Sequence[TestResult]) -> list[TestResult]:
    """Without the items that consist of cocotb tests, and without what was skipped."""
    with_tests = {(test.service, test.item) for test in tests if test.item}
    return [test for test in tests if (test.item or (test.service, test.name) not in with_tests)]


def _lightest(tests: Sequence[TestResult], services: int) -> float:
    """What the lightest test adds to the share of tests passed, as `graded` counts them."""
    items: dict[str, int] = {}
    inside: dict[tuple[str, str], int] = {}
    for test in tests:
        if test.item:
            inside[test.service, test.item] = inside.get((test.service, test.item), 0) + 1
        else:
            items[test.service] = items.get(test.service, 0) + 1
    heaviest = max(
        (count * max((n for (name, _), n in inside.items() if name == service), default=1))
        for service, count in (items or {"": 1}).items()
    )
    return 1.0 / (max(services, 1) * heaviest)


def _parts(passed: float, listed: Sequence[TestResult], failed: Sequence[_Test]) -> tuple[ProgressPart, ...]:
    counted = [test for test in failed if test.own is not None]
    held, asked = sum(test.own.changes_held for test in counted if test.own), sum(test.asked for test in failed)
    all_held = sum(test.own.held for test in counted if test.own)
    times = [test.time for test in failed if test.time is not None]
    signals = _by_signal(failed)
    total = len(listed)
    return (
        ProgressPart("tests_passed", passed, f"{total - len(failed)} of {total} tests passed"),
        ProgressPart(
            "checks_reached",
            _mean(test.reached for test in failed),
            f"{all_held} checks held before the first that did not, {held} of {asked} that expect a changed value"
            + _beyond(failed)
            + _unknown(failed),
        ),
        ProgressPart(
            "values_matched",
            _mean(fmean(test.signals.values()) if test.signals else 0.0 for test in failed),
            ", ".join(f"{name} {share:.0%}" for name, share in signals.items())
            or "no test compared changing values of a signal",
        ),
        ProgressPart(
            "time_reached",
            _mean(times) if times else None,
            "of a right design's simulation time; earns nothing by itself"
            if times
            else "no right design is known to compare with",
        ),
    )


def _beyond(failed: Sequence[_Test]) -> str:
    more = sum(max(0, test.own.changes - test.asked) for test in failed if test.own)
    return f"; it was asked {more} more than a right design, which count against it" if more else ""


def _unknown(failed: Sequence[_Test]) -> str:
    without = sum(1 for test in failed if test.own is None)
    return f"; {without} of the tests made none" if without else ""


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return round(fmean(known), 6) if known else 0.0


def _by_signal(failed: Sequence[_Test]) -> dict[str, float]:
    """The share of compared values that matched, of each signal, over all tests that did not pass."""
    compared: dict[str, int] = {}
    matched: dict[str, int] = {}
    for test in failed:
        known = test.right or test.own
        for name, one in known.signals.items() if known else ():
            own = test.own.signals.get(name) if test.own else None
            compared[name] = compared.get(name, 0) + max(one.compared, own.compared if own else 0)
            matched[name] = matched.get(name, 0) + (own.matched if own else 0)
    return {name: round(matched[name] / compared[name], 6) for name in compared if compared[name]}

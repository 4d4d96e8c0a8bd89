"""Whether a run was a success: each criterion with what was wanted and found.

Tests, total reward, steady improvement and a match of the teacher are the seed experiments' own words for an excellent
result, the distance to the teacher a target of theirs; the start, the pass rate and the 5 points are the demo's.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rtl_agent.runs import RunRecord
from rtl_agent.training.evaluate import AFTER, BEFORE, TEACHER, ExamResult
from rtl_agent.training.metrics import REWARD
from rtl_agent.training.tasks import TEST

PARTS = 4  # of a run, to see whether it rises steadily
SLACK = 0.02  # of reward, between two parts
ROUNDING = 1e-9  # 119 of 120 less 113 of 120 is a hair over 5 points in binary

Found = TypeVar("Found")


@dataclass(frozen=True)
class Criterion:
    name: str
    wanted: str
    found: str
    met: bool


def criteria(run: RunRecord, exam: dict[str, dict[str, dict[str, ExamResult]]]) -> list[Criterion]:
    """Greedy answers to unseen instances of the trained families decide. What was not measured is not met."""
    return [*_start(_greedy(exam, BEFORE)), *_end(_greedy(exam, AFTER), _greedy(exam, TEACHER)), *_way(run)]


def _start(before: ExamResult | None) -> list[Criterion]:
    form = None if before is None else before.rates.get("format_valid", 0.0)
    passed = None if before is None else before.pass_rate
    return [
        _judged("starts by knowing the format", "format > 95 %", form, _percent, lambda share: share > 0.95),
        _judged("starts by not reading", "pass rate < 15 %", passed, _percent, lambda share: share < 0.15),
    ]


def _end(after: ExamResult | None, teacher: ExamResult | None) -> list[Criterion]:
    passed, reward = (None, None) if after is None else (after.pass_rate, after.reward)
    behind = None if after is None or teacher is None else teacher.pass_rate - after.pass_rate
    return [
        _judged("tests", "> 0.8", passed, "{:.3f}".format, lambda share: share > 0.8),
        _judged("total reward", "> 1.3", reward, "{:.3f}".format, lambda total: total > 1.3),
        _judged("pass rate", "> 90 %", passed, _percent, lambda share: share > 0.9),
        _judged(
            "matches its teacher",
            "at most 5 points behind",
            behind,
            lambda share: f"{100 * share:+.1f} points",
            lambda share: share <= 0.05 + ROUNDING,
        ),
    ]


def _way(run: RunRecord) -> list[Criterion]:
    """Of the steps, by the means of their quarters."""
    rewards, distances = (
        parts_of(values) if len(values) >= PARTS else None
        for values in ([value for _, value in run.series(name)] for name in (REWARD, "teacher_kl"))
    )
    wanted = f"mean reward of each quarter of the run not below the one before (by {SLACK})"
    return [
        _judged("steady improvement", wanted, rewards, _arrows("{:.2f}"), is_rising),
        _judged(
            "teacher KL",
            "falls, and is below 0.3 in the last quarter",
            distances,
            _arrows("{:.3f}"),
            lambda parts: parts[-1] < min(parts[0], 0.3),
        ),
    ]


def _judged(
    name: str, wanted: str, value: Found | None, shown: Callable[[Found], str], is_met: Callable[[Found], bool]
) -> Criterion:
    if value is None:
        return Criterion(name, wanted, "not measured", met=False)
    return Criterion(name, wanted, shown(value), met=is_met(value))


def parts_of(values: Sequence[float]) -> list[float]:
    """The means of a series' quarters."""
    edges = [len(values) * at // PARTS for at in range(PARTS + 1)]
    return [sum(values[edges[at] : edges[at + 1]]) / (edges[at + 1] - edges[at]) for at in range(PARTS)]


def is_rising(parts: Sequence[float]) -> bool:
    return parts[-1] > parts[0] and all(later >= earlier - SLACK for earlier, later in itertools.pairwise(parts))


def _greedy(exam: dict[str, dict[str, dict[str, ExamResult]]], who: str) -> ExamResult | None:
    return exam.get(who, {}).get(TEST, {}).get("greedy")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _arrows(form: str) -> Callable[[Sequence[float]], str]:
    return lambda values: " -> ".join(map(form.format, values))

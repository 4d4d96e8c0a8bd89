"""Whether a run was a success, by the seed experiments' own words: each criterion with what was wanted and found."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rtl_agent.runs import RunRecord
from rtl_agent.training.exam import AFTER, BEFORE, TEACHER, Result
from rtl_agent.training.metrics import REWARD
from rtl_agent.training.sources import TEST

PARTS = 4  # of a run, to see whether it rises steadily
SLACK = 0.02  # of reward, between two parts
ROUNDING = 1e-9  # 119 of 120 less 113 of 120 is a hair over 5 points in binary


@dataclass(frozen=True)
class Criterion:
    name: str
    wanted: str
    found: str
    met: bool


def criteria(run: RunRecord, exam: dict[str, dict[str, dict[str, Result]]]) -> list[Criterion]:
    """Greedy answers to unseen instances of the trained families decide. What was not measured is not met."""
    before, after, teacher = (_greedy(exam, who) for who in (BEFORE, AFTER, TEACHER))
    found = []
    if before:
        found += [
            Criterion(
                "starts by knowing the format", "format > 95 %", _percent(_format(before)), _format(before) > 0.95
            ),
            Criterion("starts by not reading", "pass rate < 15 %", _percent(before.pass_rate), before.pass_rate < 0.15),
        ]
    if after:
        found += [
            Criterion("tests", "> 0.8", f"{after.pass_rate:.3f}", after.pass_rate > 0.8),
            Criterion("total reward", "> 1.3", f"{after.reward:.3f}", after.reward > 1.3),
            Criterion("pass rate", "> 90 %", _percent(after.pass_rate), after.pass_rate > 0.9),
        ]
    if after and teacher:
        behind = teacher.pass_rate - after.pass_rate
        near = behind <= 0.05 + ROUNDING
        found.append(Criterion("matches its teacher", "at most 5 points behind", f"{100 * behind:+.1f} points", near))
    rewards = [value for _, value in run.series(REWARD)]
    if len(rewards) >= PARTS:
        parts = parts_of(rewards)
        found.append(
            Criterion(
                "steady improvement",
                f"mean reward of each quarter of the run not below the one before (by {SLACK})",
                " -> ".join(f"{part:.2f}" for part in parts),
                is_rising(parts),
            )
        )
    distances = [value for _, value in run.series("teacher_kl")]
    if len(distances) >= PARTS:
        first, *_, last = parts_of(distances)
        found.append(
            Criterion(
                "teacher KL", "falls below 0.3", f"{first:.3f} -> {distances[-1]:.3f}", last < first and last < 0.3
            )
        )
    return found


def parts_of(values: Sequence[float]) -> list[float]:
    """The means of a series' quarters."""
    edges = [len(values) * at // PARTS for at in range(PARTS + 1)]
    return [sum(values[edges[at] : edges[at + 1]]) / (edges[at + 1] - edges[at]) for at in range(PARTS)]


def is_rising(parts: Sequence[float]) -> bool:
    return parts[-1] > parts[0] and all(later >= earlier - SLACK for earlier, later in itertools.pairwise(parts))


def _greedy(exam: dict[str, dict[str, dict[str, Result]]], who: str) -> Result | None:
    return exam.get(who, {}).get(TEST, {}).get("greedy")


def _format(of: Result) -> float:
    return of.rates.get("format_valid", 0.0)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"

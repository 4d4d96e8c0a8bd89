"""What differs between two configs or two runs, and which options may not change when a run resumes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.runs.files import RunError
from rtl_agent.runs.record import RunRecord

ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One option by its dotted name, and its value on both sides."""

    option: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.option}: {self.before!r} -> {self.after!r}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    old, new = dict(flatten(before)), dict(flatten(after))
    names = [*old, *(name for name in new if name not in old)]
    pairs = ((name, old.get(name, ABSENT), new.get(name, ABSENT)) for name in names)
    return tuple(Difference(*pair) for pair in pairs if pair[1] != pair[2])


def flatten(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Options by dotted name: `{"optim": {"lr": 1}}` has `optim.lr`."""
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def refuse_changes(run: Path, changes: Collection[Difference], fixed: Collection[str]) -> None:
    """An error that names every changed option which the steps already done depend on."""
    known = [change for change in changes if change.before != ABSENT]  # what is absent is younger than the run
    refused = [change for change in known if any(f"{change.option}.".startswith(f"{name}.") for name in fixed)]
    if refused:
        lines = "".join(f"\n  {change}" for change in refused)
        raise RunError(
            f"{run} cannot resume with another value of {', '.join(change.option for change in refused)}, because the "
            f"steps already done depend on it:{lines}\nGive the old value, or start a new run with another log_path."
        )


RECENT_STEPS = 10
_TENTHS = 10

# What a run is looked at for, in this order.
HEADLINE = {
    "reward": "env/all/reward/total",
    "pass rate": "env/all/pass_rate",
    "KL from the teacher": "teacher_kl",
    "KL per byte": "teacher_kl_per_byte",
    "held-out reward": "test/env/all/reward/total",
    "held-out pass rate": "test/env/all/pass_rate",
    "teacher's held-out pass rate": "teacher/test/env/all/pass_rate",
    "pass rate, new families": "new/env/all/pass_rate",
}


@dataclass(frozen=True)
class MetricSummary:
    """A metric at its last measurement, and its mean over the last ten: one step alone is mostly noise."""

    last: float | None
    recent: float | None


@dataclass(frozen=True)
class MetricPair:
    """One metric in both runs; None on the side that does not have it."""

    name: str
    a: MetricSummary
    b: MetricSummary

    @property
    def change(self) -> float | None:
        """From a to b, of the means."""
        return None if self.a.recent is None or self.b.recent is None else self.b.recent - self.a.recent


@dataclass(frozen=True)
class Comparison:
    a: str
    b: str
    config: tuple[Difference, ...]
    metrics: tuple[MetricPair, ...]


def compare(a: RunRecord, b: RunRecord) -> Comparison:
    measured_names = dict.fromkeys([*a.metric_names(), *b.metric_names()])
    names = dict.fromkeys([*(name for name in HEADLINE.values() if name in measured_names), *measured_names])
    pairs = (MetricPair(name, summarise(a, name), summarise(b, name)) for name in names)
    measured = tuple(pair for pair in pairs if pair.a.last is not None or pair.b.last is not None)
    return Comparison(str(a.path), str(b.path), differences(a.config, b.config), measured)


def summarise(run: RunRecord, metric: str) -> MetricSummary:
    values = [value for _, value in run.series(metric)]
    if not values:
        return MetricSummary(None, None)
    recent = values[-RECENT_STEPS:]
    return MetricSummary(values[-1], sum(recent) / len(recent))


def first_tenth(points: Sequence[tuple[int, float]]) -> float:
    """The mean over the first tenth of the points, one at least: one step alone is mostly noise."""
    values = [value for _, value in points[: max(1, len(points) // _TENTHS)]]
    return sum(values) / len(values)


def last_tenth(points: Sequence[tuple[int, float]]) -> float:
    return first_tenth(points[::-1])

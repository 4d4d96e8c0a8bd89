"""Two runs side by side: which options differ, and how the metrics of both came out."""

from dataclasses import dataclass

from rtl_agent.runs.config import Difference, differences
from rtl_agent.runs.record import RunRecord

RECENT_STEPS = 10


@dataclass(frozen=True)
class Summary:
    """A metric at its last measurement, and its mean over the last ten: one step alone is mostly noise."""

    last: float | None
    recent: float | None


@dataclass(frozen=True)
class MetricPair:
    """One metric in both runs; None on the side that does not have it."""

    name: str
    a: Summary
    b: Summary

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
    names = dict.fromkeys([*a.metric_names(), *b.metric_names()])
    pairs = (MetricPair(name, summarise(a, name), summarise(b, name)) for name in names)
    measured = tuple(pair for pair in pairs if pair.a.last is not None or pair.b.last is not None)
    return Comparison(str(a.path), str(b.path), differences(a.config, b.config), measured)


def summarise(run: RunRecord, metric: str) -> Summary:
    values = [value for _, value in run.series(metric)]
    if not values:
        return Summary(None, None)
    recent = values[-RECENT_STEPS:]
    return Summary(values[-1], sum(recent) / len(recent))

"""Where a step's time goes, though much of it goes on at once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Intervals of each kind of work. A kind's time is the wall time in which any of it was going on."""

    _began: float = field(default_factory=time.monotonic)
    _intervals: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @contextmanager
    def during(self, kind: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self._intervals.setdefault(kind, []).append((start, time.monotonic()))

    def metrics(self) -> dict[str, float]:
        """time/<kind> and time/total; time/overlap is what doing things at once has saved."""
        times = {kind: union_length(intervals) for kind, intervals in self._intervals.items()}
        any_work = union_length([one for intervals in self._intervals.values() for one in intervals])
        return {
            **{f"time/{kind}": seconds for kind, seconds in times.items()},
            "time/overlap": sum(times.values()) - any_work,
            "time/total": time.monotonic() - self._began,
        }


def union_length(intervals: list[tuple[float, float]]) -> float:
    """Seconds that are in at least one of these intervals."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(intervals):
        if stop > end:
            total += stop - max(start, end)
            end = stop
    return total

"""When each kind of work was in progress: the times of a step, what stood idle, and the lanes of a run's picture."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Span = tuple[float, float]
FINEST = 1 / 500  # of a step: shorter gaps are not kept, for nobody could see them


@dataclass
class _Work:
    kind: str
    batch: int
    start: float
    end: float | None = None


@dataclass(frozen=True)
class Lap:
    """A stretch of a run, mostly a step: which work was in progress when, in seconds from its beginning."""

    began: float  # as time.time() has it
    seconds: float
    work: dict[tuple[str, int], list[Span]]  # by kind of work, and by the batch that it was for
    kinds: tuple[str, ...] = ()  # all that the run has had so far

    def metrics(self) -> dict[str, float]:
        """Much of it is concurrent: a kind's time is the wall time in which any of it was in progress.

        time/overlap is what concurrency has saved; time/idle/<kind> is when none of its kind was in progress.
        """
        times = {kind: union_length(self._spans(kind)) for kind in self.kinds}
        any_work = union_length(span for spans in self.work.values() for span in spans)
        return {
            **{f"time/{kind}": seconds for kind, seconds in times.items()},
            **{f"time/idle/{kind}": max(0.0, self.seconds - seconds) for kind, seconds in times.items()},
            "time/overlap": sum(times.values()) - any_work,
            "time/total": self.seconds,
        }

    def line(self) -> dict[str, Any]:
        """For timeline.jsonl: by kind, spans as [batch, start, end]."""
        lanes: dict[str, list[list[float]]] = {}
        for (kind, batch), spans in sorted(self.work.items()):
            found = [[batch, round(a, 3), round(b, 3)] for a, b in merged(spans, self.seconds * FINEST)]
            lanes.setdefault(kind, []).extend(found)
        return {"began": round(self.began, 3), "seconds": round(self.seconds, 3), "lanes": lanes}

    def _spans(self, kind: str) -> list[Span]:
        return [span for (one, _), spans in self.work.items() if one == kind for span in spans]


@dataclass
class Clock:
    """One for a run: work for a later step begins in an earlier one. `begin` opens a lap, and `lap` tells of it."""

    _began: float = field(default_factory=time.monotonic)
    _work: list[_Work] = field(default_factory=list)
    _kinds: dict[str, None] = field(default_factory=dict)

    @contextmanager
    def during(self, kind: str, batch: int = 0) -> Iterator[None]:
        one = _Work(kind, batch, time.monotonic())
        self._work.append(one)
        self._kinds[kind] = None
        try:
            yield
        finally:
            one.end = time.monotonic()

    def begin(self) -> None:
        self._began = time.monotonic()
        self._work = [one for one in self._work if one.end is None]

    def lap(self) -> Lap:
        """Since `begin`. What is still in progress counts up to now, and goes on in the next lap."""
        now = time.monotonic()
        found: dict[tuple[str, int], list[Span]] = {}
        for one in self._work:
            start, end = max(one.start, self._began), now if one.end is None else one.end
            if end > start:
                found.setdefault((one.kind, one.batch), []).append((start - self._began, end - self._began))
        seconds = now - self._began
        return Lap(time.time() - seconds, seconds, found, tuple(self._kinds))


def merged(spans: Iterable[Span], gap: float = 0.0) -> list[Span]:
    """In order and apart from each other by more than `gap`."""
    found: list[Span] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1] + gap:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((start, stop))
    return found


def union_length(spans: Iterable[Span]) -> float:
    """Seconds that are in at least one of these spans."""
    return sum(stop - start for start, stop in merged(spans))

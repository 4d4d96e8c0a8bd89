"""timeline.jsonl read again: when each kind of work was in progress in a step. Anybody may have written the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from rtl_agent.runs.directory import TIMELINE
from rtl_agent.runs.files import RunError, read_lines

MOST_SPANS = 2_000  # of one kind in one step
LATEST = 1e11  # seconds since 1970, in the year 5138: a larger number is none of ours


@dataclass(frozen=True)
class Work:
    """Of one kind, for one batch, in seconds from the beginning of the step."""

    batch: int
    start: float
    end: float


@dataclass(frozen=True)
class StepTimes:
    """`lanes` by kind of work: sample, grade, teacher, train."""

    step: int
    began: float
    seconds: float
    lanes: Mapping[str, tuple[Work, ...]]


def read_timeline(run: Path) -> list[StepTimes]:
    """Lines that say nothing that can be drawn are left out."""
    try:
        return [step for line in read_lines(run / TIMELINE) if (step := _step(line)) is not None]
    except RunError:
        return []


def _step(line: Mapping[str, Any]) -> StepTimes | None:
    step, began, seconds = (_number(line.get(name)) for name in ("step", "began", "seconds"))
    lanes = line.get("lanes")
    if step is None or began is None or seconds is None or seconds <= 0 or not isinstance(lanes, Mapping):
        return None
    found = {str(kind): _spans(spans, seconds) for kind, spans in lanes.items() if isinstance(spans, list)}
    return StepTimes(int(step), began, seconds, found)


def _spans(spans: list[Any], seconds: float) -> tuple[Work, ...]:
    found = []
    for span in spans[:MOST_SPANS]:
        numbers = [_number(one) for one in span] if isinstance(span, list) and len(span) == 3 else []
        batch, start, end = (*numbers, None, None, None)[:3]
        if batch is not None and start is not None and end is not None and 0 <= start < end:
            found.append(Work(int(batch), min(start, seconds), min(end, seconds)))
    return tuple(found)


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and abs(value) < LATEST
    return float(value) if good else None

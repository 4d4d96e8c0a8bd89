"""A VCD, and the reference's beside it -> the few cycles to look at: around the failure and the first difference."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from rtl_agent.waves.message import read_message
from rtl_agent.waves.vcd import Signal, Vcd, changes, open_vcd

BEFORE, AFTER = 14, 6  # cycles around the failure
MOST_CYCLES = 200  # between the first difference and the failure, to show both
MOST_SIGNALS = 400
MOST_CHANGES = 60_000  # of a window, all signals together
MOST_VALUE_LETTERS = 4_000_000
_MOST_PORT_CHANGES = 1_000_000
_CLOCKS = ("clk", "clock", "ck", "aclk", "pclk", "hclk", "i_clk", "clk_i", "clk_in", "sys_clk")


@dataclass(frozen=True)
class Failure:
    """What the grade knows of a test, times in ns; `began` is when the test before it in its simulation ended."""

    time_ns: float | None
    message: str | None
    began_ns: float = 0.0
    failed: bool = True


@dataclass
class Trace:
    """Ports of the top module over the whole simulation."""

    vcd: Vcd
    top: str
    ports: dict[str, Signal]
    values: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # port -> changes, as short as in the file
    end: int = 0

    def direction(self, name: str) -> str:
        return self.vcd.ports.get(name, "inner")

    def at(self, name: str, time: int) -> str:
        """As short as in the file: a million values of a port of 65,536 bits would not fit into memory."""
        found = self.values[name]
        index = bisect_right(found, time, key=lambda change: change[0]) - 1
        return found[index][1] if index >= 0 else "x"


def read_windows(
    candidate: Path, failure: Failure, reference: Path | None = None, reference_began_ns: float = 0.0
) -> dict[str, Any]:
    """As the page's `Waves`: `candidate`, and `reference` or None; both on the candidate's time."""
    own = _trace(candidate)
    other = _trace(reference) if reference else None
    notes: list[str] = []
    shift = 0
    if other and other.vcd.fs != own.vcd.fs:
        notes.append("the reference has another time unit, and is not shown")
        other = None
    ticks = 10**6 / own.vcd.fs
    if other:
        shift = round((failure.began_ns - reference_began_ns) * ticks)
        if shift:
            notes.append(f"the test began at another time with the reference: its waves are moved by {shift} ticks")
    fail = own.end if failure.time_ns is None else round(failure.time_ns * ticks)
    began = round(failure.began_ns * ticks)
    differs, differing = _first_difference(own, other, shift, began, fail) if other else (None, [])
    period = _period(own, fail)
    start, end = _window(own, fail, differs, period, notes)
    told = read_message(failure.message, [*own.ports, *_inner_names(own)])
    signal = told.signal or next((name for name in differing if own.direction(name) == "output"), None)
    common = {
        "status": "ok",
        "message": "",
        "timescale": own.vcd.unit,
        "from": start,
        "to": end,
        "fail_time": fail if failure.failed and start <= fail <= end else None,
        "differs_at": differs,
        "failing_signal": f"{own.top}.{signal}" if signal else None,
        "expected": told.expected,
        "got": told.got,
    }
    mine = {**common, **_shown(own, candidate, start, end, 0)}
    mine["notes"] = [*notes, *mine["notes"]]
    its = {**common, **_shown(other, reference, start, end, shift)} if other and reference else None
    return {"candidate": mine, "reference": its}


def _trace(path: Path) -> Trace:
    with path.open("rb") as stream:
        vcd = open_vcd(stream)
        top = vcd.signals[0].path[0] if vcd.signals else ""
        own = {signal.path[1]: signal for signal in vcd.signals if len(signal.path) == 2 and signal.path[0] == top}
        ports = {name: own[name] for name in vcd.ports if name in own} or own
        trace = Trace(vcd, top, ports, {name: [] for name in ports})
        names: dict[bytes, list[str]] = {}
        for name, signal in ports.items():
            names.setdefault(signal.id, []).append(name)
        left = _MOST_PORT_CHANGES
        for time, identifier, value in changes(vcd, names.keys()):
            trace.end = time
            for name in names.get(identifier, ()):
                _append(trace.values[name], time, value)
                left -= 1
            if left <= 0:
                vcd.note("the ports change too often: not compared to the end")
                break
    return trace


def _append(found: list[tuple[int, str]], time: int, value: str) -> None:
    """The last value of a time counts."""
    if found and found[-1][0] == time:
        found.pop()
    if not found or found[-1][1] != value:
        found.append((time, value))


def _widened(bits: str, width: int) -> str:
    """VCD leaves leading zeros out, and repeats an x or z."""
    return bits.rjust(width, bits[0] if bits[0] in "xz" else "0")


def _first_difference(own: Trace, other: Trace, shift: int, began: int, end: int) -> tuple[int | None, list[str]]:
    """The first time of a test at which a port differs, and which ones do then. After a failure the next test begins.

    Bits that the reference leaves open (x, z) may be anything. A bit that only the candidate leaves open counts once
    the port has had a value, or there is no other difference: before a reset designs differ in what is not set yet.
    """
    firsts: dict[str, int] = {}
    opens: dict[str, int] = {}
    for name, signal in own.ports.items():
        if name not in other.ports or other.ports[name].width != signal.width or signal.real:
            continue
        known = False
        for time, mine, its in _side_by_side(own, other, name, shift):
            known = known or not ("x" in mine or "z" in mine)
            if time < began:
                continue
            if time > end:
                break
            kind = _difference(mine, its)
            if kind and (kind == "value" or known):
                firsts[name] = time
                break
            if kind:
                opens.setdefault(name, time)
    chosen = firsts or opens
    if not chosen:
        return None, []
    first = min(chosen.values())
    return first, [name for name, time in chosen.items() if time == first]


def _side_by_side(own: Trace, other: Trace, name: str, shift: int) -> Iterator[tuple[int, str, str]]:
    """Both values whenever one of them changes, up to the end of the shorter simulation."""
    end = min(own.end, other.end + shift)
    times = {time for time, _ in own.values[name]} | {time + shift for time, _ in other.values[name]}
    for time in sorted(times):
        if 0 <= time <= end:
            yield time, own.at(name, time), other.at(name, time - shift)


def _difference(mine: str, its: str) -> str:
    """ "value", "open" where only the candidate has no value, "" """
    if mine == its:
        return ""
    width = max(len(mine), len(its))
    pairs = [(a, b) for a, b in zip(_widened(mine, width), _widened(its, width), strict=True) if a != b and b in "01"]
    if any(a in "01" for a, _ in pairs):
        return "value"
    return "open" if pairs else ""


def _period(trace: Trace, around: int) -> int:
    """Ticks of a cycle; without a clock, the usual time between changes of ports."""
    best: list[int] = []
    for name, signal in trace.ports.items():
        if signal.width != 1 or trace.direction(name) == "output":
            continue
        rising = [time for time, value in trace.values[name] if value == "1"]
        if name.lower() in _CLOCKS and len(rising) > 2:
            best = rising
            break
        if len(rising) > max(len(best), 3):
            best = rising
    if not best:
        best = sorted({time for found in trace.values.values() for time, _ in found})
    at = bisect_right(best, around)
    steps = Counter(late - early for early, late in pairwise(best[max(0, at - 40) : at + 10]))
    return steps.most_common(1)[0][0] if steps else max(1, trace.end // 20)


def _window(trace: Trace, fail: int, differs: int | None, period: int, notes: list[str]) -> tuple[int, int]:
    start, end = fail - BEFORE * period, fail + AFTER * period
    if differs is not None:
        early, late = min(differs, fail), max(differs, fail)
        if late - early <= MOST_CYCLES * period:
            start, end = min(start, early - AFTER * period), max(end, late + AFTER * period)
        else:
            start, end = differs - AFTER * period, differs + BEFORE * period
            notes.append(f"the test failed at {fail}, far from the first difference: see the file")
    start = max(0, min(start, trace.end))
    return start, max(start + 1, min(end, trace.end))


def _inner_names(trace: Trace) -> list[str]:
    return [one.path[1] for one in trace.vcd.signals if len(one.path) == 2 and one.path[0] == trace.top]


def _shown(trace: Trace, path: Path, start: int, end: int, shift: int) -> dict[str, Any]:
    """The signals of a window with their changes; the top module's ports first, then what is in it, level by level."""
    vcd = trace.vcd
    order = {"input": 0, "output": 1, "inout": 1}
    ranked = sorted(
        vcd.signals,
        key=lambda one: (
            one.path[0] != trace.top,
            len(one.path),
            order.get(trace.direction(one.path[1]), 2) if len(one.path) == 2 else 2,
        ),
    )
    chosen = [one for one in ranked[:MOST_SIGNALS] if not one.real]
    values = _changes_within(path, {one.id for one in chosen}, start - shift, end - shift)
    shown: list[dict[str, Any]] = []
    left, letters = MOST_CHANGES, MOST_VALUE_LETTERS
    for signal in chosen:
        found = values.get(signal.id, [])
        left -= len(found)
        letters -= sum(len(value) for _, value in found)
        if left < 0 or letters < 0:
            break
        direction = trace.direction(signal.path[1]) if len(signal.path) == 2 else "inner"
        shown.append(
            {
                "name": signal.name,
                "width": signal.width,
                "direction": "output" if direction == "inout" else direction,
                "changes": [[max(start, time + shift), value] for time, value in found],
            }
        )
    ticks = 10**6 / vcd.fs
    return {
        "signals": shown,
        "end_ns": trace.end / ticks,
        "complete": vcd.complete and "cut at its largest size" not in vcd.notes,
        "truncated": len(shown) < len(vcd.signals) or start > 0 or end < trace.end + shift,
        "notes": [*vcd.notes],
    }


def _changes_within(path: Path, ids: set[bytes], start: int, end: int) -> Mapping[bytes, Sequence[tuple[int, str]]]:
    """The value at the start, and what changes until the end."""
    before: dict[bytes, str] = {}
    within: dict[bytes, list[tuple[int, str]]] = {}
    left = 4 * MOST_CHANGES
    with path.open("rb") as stream:
        vcd = open_vcd(stream)
        for time, identifier, value in changes(vcd, ids):
            if time > end or left <= 0:
                break
            if not identifier:
                continue
            if time <= start:
                before[identifier] = value
            else:
                _append(within.setdefault(identifier, []), time, value)
                left -= 1
    found = {identifier: [(start, value)] for identifier, value in before.items()}
    for identifier, later in within.items():
        found.setdefault(identifier, []).extend(later)
    return found

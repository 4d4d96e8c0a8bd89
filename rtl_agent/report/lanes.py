"""The lanes of a run: sampling, grading, teacher and training over time, each bar with the batch that it is for.

A bar of step 12's lane that says 13 is work for the next step: that is what sampling ahead buys. White space in the
lane of training is a trainer that waits.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from rtl_agent.report.draw import ticks
from rtl_agent.report.markup import Child, Markup, join, percent, table, tag
from rtl_agent.runs.timeline import StepTimes, Work

LANES = {"sample": "sampling", "grade": "grading", "teacher": "teacher", "train": "training"}
SHOWN_STEPS = 6
MOST_ROWS = 9  # batches side by side: those in flight, and the one that trains
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 960, 96, 12, 22, 44
_ROW, _GAP = 16, 14
_DIGIT = 9.0  # width of a digit in a bar


def lanes_view(timeline: Sequence[StepTimes]) -> Markup | None:
    """The last steps as a picture, and how much of all steps each kind of work stood idle."""
    steps = _shown(timeline)
    kinds = [kind for kind in LANES if any(step.lanes.get(kind) for step in timeline)]
    if not steps or not kinds:
        return None
    first, last = steps[0].step + 1, steps[-1].step + 1
    which = f"step {first}" if first == last else f"steps {first} to {last}"
    told = (
        f"The wall time of {which}. A bar is work in progress; its number is the step that trains on it. Vertical "
        "lines are the ends of steps."
    )
    return join(
        tag("h2", "Lanes"),
        tag("p", told, class_="soft"),
        tag("figure", _picture(steps, kinds), class_="lanes"),
        _idle(timeline, kinds),
    )


def _shown(timeline: Sequence[StepTimes]) -> list[StepTimes]:
    """The last ones that follow each other: a run that was stopped for a night is not drawn with the night."""
    last = list(timeline[-SHOWN_STEPS:])
    for at in range(len(last) - 1, 0, -1):
        before, after = last[at - 1], last[at]
        gap = after.began - before.began - before.seconds
        if after.step != before.step + 1 or not -1.0 < gap < 2 * (before.seconds + after.seconds):
            return last[at:]
    return last


def _picture(steps: Sequence[StepTimes], kinds: Sequence[str]) -> Markup:
    began, end = steps[0].began, steps[-1].began + steps[-1].seconds
    scale = (_WIDTH - _LEFT - _RIGHT) / (end - began)

    def x(moment: float) -> float:
        return _LEFT + (moment - began) * scale

    parts, top = list[Markup](), float(_TOP)
    for colour, kind in enumerate(LANES):
        if kind not in kinds:
            continue
        rows = _rows(steps, kind)
        used = max(rows.values(), default=0) + 1
        middle = top + used * _ROW / 2
        parts.append(tag("text", LANES[kind], x=_LEFT - 8, y=_px(middle), dy="0.35em", text_anchor="end"))
        for step in steps:
            for one in step.lanes.get(kind, ()):
                left, right = x(step.began + one.start), x(step.began + one.end)
                parts.append(_bar(left, right, top + rows[one.batch] * _ROW, one, colour))
        top += used * _ROW + _GAP
    floor = top - _GAP / 2
    return tag(
        "svg",
        tag("title", "Sampling, grading, teacher and training over time"),
        *_grid(steps, x, floor, end - began),
        *parts,
        viewBox=f"0 0 {_WIDTH} {floor + _BOTTOM:.0f}",
        role="img",
    )


def _rows(steps: Sequence[StepTimes], kind: str) -> dict[int, int]:
    """A row for each batch, the same for two that are never in progress at once."""
    spans: dict[int, tuple[float, float]] = {}
    for step in steps:
        for one in step.lanes.get(kind, ()):
            start, end = spans.get(one.batch, (float("inf"), float("-inf")))
            spans[one.batch] = (min(start, step.began + one.start), max(end, step.began + one.end))
    free_from: list[float] = []
    rows: dict[int, int] = {}
    for batch, (start, end) in sorted(spans.items(), key=lambda item: (item[1], item[0])):
        row = next((row for row, free in enumerate(free_from) if free <= start), len(free_from))
        row = min(row, MOST_ROWS - 1)
        if row == len(free_from):
            free_from.append(end)
        else:
            free_from[row] = max(end, free_from[row])
        rows[batch] = row
    return rows


def _bar(left: float, right: float, top: float, one: Work, colour: int) -> Markup:
    """Every other batch is lighter, so that neighbours can be told apart in print too."""
    width = max(right - left, 0.8)
    name = str(one.batch + 1)
    kind = f"span c{colour}{' other' if one.batch % 2 else ''}"
    rect = tag("rect", x=_px(left), y=_px(top + 1), width=_px(width), height=_ROW - 2, class_=kind)
    if width < len(name) * _DIGIT + 4:
        return rect
    return join(rect, tag("text", name, x=_px(left + 3), y=_px(top + _ROW / 2), dy="0.35em", class_="in"))


def _grid(steps: Sequence[StepTimes], x: Callable[[float], float], floor: float, seconds: float) -> list[Markup]:
    began = steps[0].began
    found = []
    for step in steps:
        left, right = x(step.began), x(step.began + step.seconds)
        found.append(tag("line", x1=_px(right), x2=_px(right), y1=_TOP - 6, y2=_px(floor), class_="grid"))
        if right - left > 60:
            found.append(tag("text", f"step {step.step + 1}", x=_px((left + right) / 2), y=12, text_anchor="middle"))
    for before, after in pairwise(steps):
        left, right = x(before.began + before.seconds), x(after.began)
        if right - left > 1.5:  # an evaluation, a checkpoint
            size = {"width": _px(right - left), "height": _px(floor - _TOP + 6)}
            found.append(tag("rect", x=_px(left), y=_TOP - 6, class_="between", **size))
    for second in ticks(0.0, seconds):
        found.append(tag("text", f"{second:.4g}", x=_px(x(began + second)), y=_px(floor + 16), text_anchor="middle"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    found.append(tag("text", "seconds", x=_px(middle), y=_px(floor + 34), text_anchor="middle", class_="axis"))
    return found


def _idle(timeline: Sequence[StepTimes], kinds: Sequence[str]) -> Markup:
    """Over all steps."""
    whole = sum(step.seconds for step in timeline)
    rows: list[tuple[Child, ...]] = []
    for kind in kinds:
        busy = sum(_busy(step.lanes.get(kind, ())) for step in timeline)
        rows.append((LANES[kind], percent(busy / whole), percent(max(0.0, 1 - busy / whole))))
    return table(("work", "in progress", "idle"), rows)


def _busy(spans: Sequence[Work]) -> float:
    total, end = 0.0, 0.0
    for one in sorted(spans, key=lambda one: one.start):
        total += max(0.0, one.end - max(end, one.start))
        end = max(end, one.end)
    return total


def _px(value: float) -> str:
    return f"{value:.1f}"

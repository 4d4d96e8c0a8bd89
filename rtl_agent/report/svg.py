"""A chart as inline SVG: no script, colours from the page's style so that dark mode works."""

import math

from rtl_agent.report.charts import Chart, extent, stack
from rtl_agent.report.markup import Markup, join, tag

_WIDTH, _HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 10, 30
# Beyond this many points circles would hide the line.
_MOST_DOTS = 40


class _Scale:
    def __init__(self, chart: Chart) -> None:
        self.first, self.last = chart.steps[0], chart.steps[-1]
        self.low, self.high = extent(chart)

    def x(self, step: float) -> str:
        share = (step - self.first) / (self.last - self.first) if self.last > self.first else 0.5 + step - self.first
        return f"{_LEFT + share * (_WIDTH - _LEFT - _RIGHT):.1f}"

    def y(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low)
        return f"{_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM):.1f}"


def draw(chart: Chart) -> Markup:
    scale = _Scale(chart)
    areas = [
        tag(
            "polygon",
            points=" ".join(
                [f"{scale.x(step)},{scale.y(top)}" for step, _, top in band]
                + [f"{scale.x(step)},{scale.y(bottom)}" for step, bottom, _ in reversed(band)]
            ),
            class_=f"area c{number}",
        )
        for number, band in enumerate(stack(chart))
    ]
    lines = []
    for number, line in enumerate(chart.lines, start=len(chart.stacked)):
        places = [(scale.x(step), scale.y(value)) for step, value in line.points]
        kind = "level" if line.level else "line"
        lines.append(tag("polyline", points=" ".join(f"{x},{y}" for x, y in places), class_=f"{kind} c{number}"))
        if len(places) <= _MOST_DOTS and not line.level:
            lines += [tag("circle", cx=x, cy=y, r=2.5, class_=f"dot c{number}") for x, y in places]
    return tag(
        "svg",
        tag("title", chart.title),
        _grid(scale),
        *areas,
        *lines,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
    )


def legend(chart: Chart) -> Markup:
    """Names with the last value of each."""
    items = [
        tag("li", tag("span", class_=f"key c{number}"), f" {line.label} ", tag("b", f"{line.points[-1][1]:.4g}"))
        for number, line in enumerate((*chart.stacked, *chart.lines))
    ]
    return tag("ul", *items, class_="legend")


def _grid(scale: _Scale) -> Markup:
    parts = []
    for value in ticks(scale.low, scale.high):
        y = scale.y(value)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", f"{value:.4g}", x=_LEFT - 6, y=y, dy="0.35em", text_anchor="end"))
    for step in ticks(scale.first, scale.last) if scale.last > scale.first else [scale.first]:
        if step == int(step):
            parts.append(tag("text", int(step), x=scale.x(step), y=_HEIGHT - 10, text_anchor="middle"))
    return join(*parts)


def ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers from low to high."""
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    size = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / size - 1e-9)
    count = math.floor(high / size + 1e-9) - first + 1
    return [round((first + number) * size, 12) for number in range(count)]

"""Charts drawn: inline SVG without scripts for the page, in its colours, and PNG files for slides."""

import io
import math
from importlib.util import find_spec
from pathlib import Path

from rtl_agent.report.charts import Chart, Line, Points, extent, stack
from rtl_agent.report.markup import Markup, join, percent, tag
from rtl_agent.runs import write_whole

# Small numbers keep the text readable where the drawing is scaled down to a phone's width.
_WIDTH, _HEIGHT = 480, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 10, 12, 46
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

    def places(self, points: Points) -> str:
        return " ".join(f"{self.x(step)},{self.y(value)}" for step, value in points)


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
    return tag(
        "svg",
        tag("title", chart.title),
        _grid(scale, chart),
        *areas,
        *(part for line in chart.lines for part in _line(line, scale)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
    )


def _line(line: Line, scale: _Scale) -> list[Markup]:
    """What was measured faint behind its mean; dots where they are few."""
    kind = "level" if line.level else "line"
    drawn = [tag("polyline", points=scale.places(line.smooth), class_=f"{kind} c{line.colour}")]
    if line.is_smoothed:
        drawn.insert(0, tag("polyline", points=scale.places(line.points), class_=f"raw c{line.colour}"))
    if len(line.points) <= _MOST_DOTS and not line.level:
        dots = "dot faint" if line.is_smoothed else "dot"
        drawn += [
            tag("circle", cx=scale.x(step), cy=scale.y(value), r=2.5, class_=f"{dots} c{line.colour}")
            for step, value in line.points
        ]
    return drawn


def legend(chart: Chart) -> Markup:
    """Names with the newest value of each: the mean of the last tenth, as in the tiles."""
    items = []
    for number, line in enumerate((*chart.stacked, *chart.lines)):
        colour = number if number < len(chart.stacked) else line.colour
        key = tag("span", class_=f"{'dash' if line.level else 'key'} c{colour}")
        value = percent(line.newest) if chart.is_share else f"{line.newest:.3g}"
        items.append(tag("li", key, f" {line.label} ", tag("b", value)))
    return tag("ul", *items, class_="legend")


def spark(points: Points) -> Markup:
    """A curve without axes, for a tile."""
    values = [value for _, value in points]
    low, span = min(values), (max(values) - min(values)) or 1.0
    first, width = points[0][0], (points[-1][0] - points[0][0]) or 1
    places = " ".join(
        f"{100 * (step - first) / width:.1f},{22 - 20 * (value - low) / span:.1f}" for step, value in points
    )
    return tag(
        "svg",
        tag("polyline", points=places, class_="line c0"),
        viewBox="0 0 100 24",
        preserveAspectRatio="none",
        class_="spark",
    )


def _grid(scale: _Scale, chart: Chart) -> Markup:
    parts = []
    for value in ticks(scale.low, scale.high):
        y = scale.y(value)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        shown = percent(value, 0) if chart.is_share else f"{value:.4g}"
        parts.append(tag("text", shown, x=_LEFT - 6, y=y, dy="0.35em", text_anchor="end"))
    for step in ticks(scale.first, scale.last) if scale.last > scale.first else [scale.first]:
        if step == int(step):
            parts.append(tag("text", int(step), x=scale.x(step), y=_HEIGHT - 26, text_anchor="middle"))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        tag("text", "step", x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 6, text_anchor="middle", class_="axis")
    )
    parts.append(
        tag(
            "text",
            chart.unit,
            x=12,
            y=middle,
            transform=f"rotate(-90 12 {middle})",
            text_anchor="middle",
            class_="axis",
        )
    )
    return join(*parts)


def ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers from low to high."""
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    size = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / size - 1e-9)
    count = math.floor(high / size + 1e-9) - first + 1
    return [round((first + number) * size, 12) for number in range(count)]


def can_draw_png() -> bool:
    """matplotlib comes with the `train` extra only, and is imported when it is needed."""
    return find_spec("matplotlib") is not None


def write_png(charts: list[Chart], folder: Path) -> list[Path]:
    """One file for each chart."""
    paths = []
    for chart in charts:
        path = folder / f"{chart.name}.png"
        write_whole(path, _png(chart))
        paths.append(path)
    return paths


def _png(chart: Chart) -> bytes:
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for line, band in zip(chart.stacked, stack(chart), strict=True):
        steps, bottoms, tops = zip(*band, strict=True)
        axes.fill_between(steps, bottoms, tops, label=line.label, alpha=0.6)
    for line in chart.lines:
        colour = "black" if chart.stacked else f"C{line.colour}"
        if line.is_smoothed:
            axes.plot(*zip(*line.points, strict=True), color=colour, alpha=0.3, linewidth=1, marker=".", markersize=3)
        style = {"linestyle": "--"} if line.level else {} if line.is_smoothed else {"marker": "o", "markersize": 4}
        axes.plot(*zip(*line.smooth, strict=True), label=line.label, color=colour, linewidth=2, **style)
    low, high = extent(chart)
    axes.set_ylim(low, high * 1.03 if high > 0 else high)
    axes.set(title=chart.title, xlabel="step", ylabel=chart.unit)
    if chart.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=120)
    return image.getvalue()

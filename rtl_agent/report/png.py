"""The charts as PNG files. matplotlib comes with the `train` extra only, and is imported when it is needed."""

import io
from importlib.util import find_spec
from pathlib import Path

from rtl_agent.report.charts import Chart, extent, stack
from rtl_agent.runs import write_whole


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def write_curves(charts: list[Chart], folder: Path) -> list[Path]:
    """One file for each chart."""
    paths = []
    for chart in charts:
        path = folder / f"{chart.name}.png"
        write_whole(path, _draw(chart))
        paths.append(path)
    return paths


def _draw(chart: Chart) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for line, band in zip(chart.stacked, stack(chart), strict=True):
        steps, bottoms, tops = zip(*band, strict=True)
        axes.fill_between(steps, bottoms, tops, label=line.label, alpha=0.6)
    for line in chart.lines:
        steps, values = zip(*line.points, strict=True)
        colour = "black" if chart.stacked else None
        style = {"linestyle": "--"} if line.level else {"marker": "o", "markersize": 3}
        axes.plot(steps, values, label=line.label, color=colour, **style)
    low, high = extent(chart)
    axes.set_ylim(low, high * 1.05 if high > 0 else high)
    axes.set(title=chart.title, xlabel="step")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=120)
    return image.getvalue()

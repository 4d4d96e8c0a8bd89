"""A run as one HTML page that needs nothing from outside and runs nothing, written into the run's directory."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rtl_agent.report import draw
from rtl_agent.report.before_after import against_references, compared
from rtl_agent.report.charts import Chart, charts_of
from rtl_agent.report.episodes import digest, examples, problems_view
from rtl_agent.report.exam import criteria_view, exam_view, read_criteria, read_exam
from rtl_agent.report.headline import headline, tiles, title
from rtl_agent.report.lanes import lanes_view
from rtl_agent.report.markup import Child, Markup, join, table, tag
from rtl_agent.report.side_by_side import before_and_after
from rtl_agent.runs import RunRecord, flatten, read_run, write_whole
from rtl_agent.runs.timeline import read_timeline

# Should text ever get past the escaping, the browser still refuses scripts and addresses.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_LEADING = 2  # charts that are drawn larger


@dataclass(frozen=True)
class WrittenReport:
    """What was written; no curves where matplotlib is missing or nothing was measured."""

    page: Path
    curves: tuple[Path, ...]
    curves_left_out: bool


def write_report(path: str | Path, *, curves: bool = True) -> WrittenReport:
    """`report.html`, and `curves/*.png` beside it. The run may be still going: both show it as it is now."""
    run = read_run(path)
    charts = charts_of(run)
    page = run.path / "report.html"
    write_whole(page, render(run, charts).encode(errors="replace"))
    drawn = draw.write_png(charts, run.path / "curves") if curves and draw.can_draw_png() else []
    return WrittenReport(page, tuple(drawn), curves_left_out=bool(charts) and curves and not draw.can_draw_png())


def render(run: RunRecord, charts: Sequence[Chart]) -> str:
    """What was learned first, then how, then single answers, then the options."""
    training, held_out = digest(run.rollouts()), digest(run.rollouts("eval"))
    style = Markup((files("rtl_agent.report") / "page.css").read_text())
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title(run)} ({run.name})"),
        tag("style", style),
    )
    body = tag(
        "body",
        headline(run, training),
        tiles(run),
        _curves(charts),
        lanes_view(read_timeline(run.path)),
        exam_view(read_exam(run.path)),
        criteria_view(read_criteria(run.path)),
        before_and_after(against_references(compared(run))),
        problems_view("Held-out problems", held_out),
        problems_view("Problems in training", training),
        examples(training),
        _config(run),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _curves(charts: Sequence[Chart]) -> Markup | None:
    if not charts:
        return None
    figures = [
        tag(
            "figure",
            tag("h3", chart.title),
            draw.draw(chart),
            draw.legend(chart),
            tag("p", chart.note, class_="soft") if chart.note else None,
        )
        for chart in charts
    ]
    smoothed = any(chart.is_smoothed for chart in charts)
    told = (
        "Bold lines are moving averages over a tenth of the steps; faint lines are the values as measured. "
        if smoothed
        else ""
    )
    told += "The legend gives the mean over the last tenth."
    rows = [("charts lead", figures[:_LEADING]), ("charts", figures[_LEADING:])]
    grids = [tag("div", *row, class_=kind) for kind, row in rows if row]
    return join(tag("h2", "Curves"), tag("p", told, class_="soft"), *grids)


def _config(run: RunRecord) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (name, value if isinstance(value, str) else json.dumps(value)) for name, value in flatten(run.config)
    ]
    if not rows:
        return join(tag("h2", "Configuration"), tag("p", "The configuration is empty.", class_="empty"))
    return join(tag("h2", "Configuration"), table(("option", "value"), rows, names=2))

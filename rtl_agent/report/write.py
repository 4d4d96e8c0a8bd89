"""Write a run's report into its directory."""

from dataclasses import dataclass
from pathlib import Path

from rtl_agent.report.against_reference import against_references
from rtl_agent.report.before_after import compared
from rtl_agent.report.charts import charts_of
from rtl_agent.report.episodes import digest
from rtl_agent.report.exam import read_criteria, read_exam
from rtl_agent.report.interface import ReadInterfaces
from rtl_agent.report.page import render
from rtl_agent.report.png import can_draw, write_curves
from rtl_agent.runs import read_run, write_whole


@dataclass(frozen=True)
class Report:
    """What was written; no curves where matplotlib is missing or nothing was measured."""

    page: Path
    curves: tuple[Path, ...]
    curves_left_out: bool


def write_report(path: str | Path, *, curves: bool = True, read_interfaces: ReadInterfaces | None = None) -> Report:
    """`report.html`, and `curves/*.png` beside it. The run may be still going: both show it as it is now.

    With `read_interfaces` answers are compared with references port by port; without, the grader's words stand.
    """
    run = read_run(path)
    charts = charts_of(run)
    page = run.path / "report.html"
    cases = compared(run)
    if read_interfaces is not None:
        cases = against_references(cases, read_interfaces)
    training, held_out = digest(run.episodes()), digest(run.episodes("eval"))
    text = render(run, charts, training, held_out, cases, read_exam(run.path), read_criteria(run.path))
    write_whole(page, text.encode(errors="replace"))
    drawn = write_curves(charts, run.path / "curves") if curves and can_draw() else []
    return Report(page, tuple(drawn), curves_left_out=bool(charts) and curves and not can_draw())

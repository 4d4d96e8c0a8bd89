"""`rtl-agent report`: a run as one page."""

from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson
from rtl_agent.cli.runs import RunPath, find_run
from rtl_agent.report import write_report


def report(
    run: RunPath,
    curves: Annotated[bool, typer.Option(help="Also write the curves as PNG files.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write report.html, one page that needs nothing else, and curves/*.png into the run directory."""
    written = write_report(find_run(run), curves=curves)
    if written.curves_left_out:
        console.say_warning(
            "no PNG curves: they need matplotlib (pip install 'rtl-agent[train]'); the page has its own"
        )
    if as_json:
        console.print_json({"page": str(written.page), "curves": [str(path) for path in written.curves]})
        return
    for path in (written.page, *written.curves):
        typer.echo(path)

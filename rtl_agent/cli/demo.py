"""`rtl-agent demo`: a small student learns from a small teacher to read specifications, while one watches."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.grade import demo_grade
from rtl_agent.cli.runs import exam_table
from rtl_agent.cli.tables import Column, Table, print_plain
from rtl_agent.cli.train import ensure_packages, train_as_planned
from rtl_agent.report import CRITERIA, write_report
from rtl_agent.report.exam import read_exam
from rtl_agent.runs import read_run, write_whole
from rtl_agent.training.parse import choose

if TYPE_CHECKING:
    from rtl_agent.training.criteria import Criterion

app = typer.Typer(help="Watch a student learn RTL on this machine; `demo grade` shows the grader alone.")
app.command("grade")(demo_grade)

_ABOUT = (
    "A student of 1.1 million weights writes Verilog by habit: rst_n, customary port names, default widths, whatever "
    "the specification says. A teacher of 2.7 million reads it. The student answers. For each token that it "
    "wrote, the teacher says how likely it is and what it would have written instead; the student learns from that. "
    "The grader simulates every answer, which shows whether the student gets better.\n"
)


@app.callback(invoke_without_command=True)
def demo(
    context: typer.Context,
    seed: Annotated[int, typer.Option(help="Seed of the problems, their order and the sampling.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The run directory; by default a new one under runs/.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of `rtl-agent train distill`.")
    ] = None,
) -> None:
    """Distil the shipped teacher into the shipped student, and check what came of it."""
    if context.invoked_subcommand:
        return
    ensure_packages()
    path = out or Path("runs") / f"demo-{time.strftime('%Y%m%d-%H%M%S')}"
    words = ["preset=demo", f"seed={seed}", f"log_path={path}", "behavior_if_log_dir_exists=resume", *(set_ or [])]
    console.err.print(_ABOUT, highlight=False)
    began = time.monotonic()
    path = train_as_planned(lambda: choose("distill", words))
    from rtl_agent.training.criteria import criteria  # after the plan was printed: it imports torch
    from rtl_agent.training.evaluate import results

    found = results(path)
    exam_table(read_exam(path)).print()
    checked = criteria(read_run(path), found)
    _criteria(checked).print()
    write_whole(path / CRITERIA, json.dumps([asdict(one) for one in checked], indent=1).encode())
    minutes, page = (time.monotonic() - began) / 60, write_report(path).page
    print_plain(f"{minutes:.1f} minutes. What it wrote before and after: {page}")
    print_plain(f"Evaluate it further: rtl-agent eval generated --model {path} --checkpoint last")
    print_plain(f"Show the run: rtl-agent runs show {path}")
    print_plain(f"Look at every rollout in the browser: rtl-agent view {path}")
    if not all(one.met for one in checked):
        raise typer.Exit(console.SOME_FAILED)


def _criteria(checked: "list[Criterion]") -> Table:
    table = Table(Column("criterion", whole=True), "target", "result", "met?", title="criteria of success")
    for one in checked:
        table.add(one.name, one.wanted, one.found, "[green]met[/]" if one.met else "[bold red]not met[/]")
    return table

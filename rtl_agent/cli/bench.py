"""`rtl-agent bench`: what grading, sampling and training cost on this machine."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as RichTable

from rtl_agent.bench import backend, document, grader, parts, real, soak, throughput
from rtl_agent.bench.cold import BaselineFailed
from rtl_agent.bench.machine import in_a_sentence, machine
from rtl_agent.bench.report import (
    Table,
    backend_table,
    grader_tables,
    parts_table,
    real_table,
    soak_table,
    throughput_table,
)
from rtl_agent.bench.subjects import ARBITER, subjects
from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson
from rtl_agent.problems import load_problems
from rtl_agent.toolchain import find_toolchain

app = typer.Typer(help="Measure the grader and the backend on this machine.", no_args_is_help=True)
Write = Annotated[bool, typer.Option("--write", help=f"Put the result into {document.PLACE}.")]


@app.command("grader")
def grader_command(
    rounds: Annotated[int, typer.Option(min=1, help="Each runs every variant once.")] = 7,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this problem (can be repeated).")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """CPU of a grade on either path, against the harness as CVDP runs it and against what is least."""
    _check_place(write)
    problems = {name: problem for name, problem in subjects().items() if not only or name in only}
    if not problems:
        raise typer.BadParameter(f"choose from {', '.join(subjects())}", param_hint="--only")
    tools = find_toolchain()
    before = machine(tools)
    with console.progress_bar("rounds", rounds * len(problems) * 5) as progress:
        measuring = grader.measure(problems, rounds, tools, on_step=lambda: progress.advance(progress.task_ids[0]))
        results = _run(measuring)
        spent = _run(parts.parts(problems[ARBITER], tools)) if ARBITER in problems else []
    after = machine(tools)
    data = {"before": before, "after": after, "results": [result.to_json() for result in results]}
    data["parts"] = [asdict(part) for part in spent]
    tables = [*grader_tables(results), *([parts_table(spent)] if spent else [])]
    _show("grader", data, tables, as_json, write)


@app.command("real")
def real_command(
    problems: Annotated[list[str], typer.Argument(help="JSONL files or folders of them, as `grade` takes them.")],
    rows: Annotated[Path, typer.Option(help="Each problem's numbers are kept here; a second run goes on.")] = Path(
        "bench-real.jsonl"
    ),
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """CPU over real problems with the files that they give, as CVDP runs them against the fast path."""
    _check_place(write)
    chosen = real.runnable([problem for source in problems for problem in load_problems(source)])
    if not chosen:
        raise typer.BadParameter("none of these problems gives a file that it asks for", param_hint="PROBLEMS")
    tools = find_toolchain()
    before = machine(tools)
    with console.progress_bar("problems", len(chosen)) as progress:

        def step(row: real.Real) -> None:
            progress.advance(progress.task_ids[0])

        results = _run(real.measure(chosen, tools, rows, on_row=step))
    data = {"before": before, "after": machine(tools), "results": [asdict(row) for row in results]}
    _show("real", data, [real_table(results)], as_json, write)


@app.command("throughput")
def throughput_command(
    seconds: Annotated[float, typer.Option(min=0.5, help="For each number of jobs.")] = 20.0,
    jobs: Annotated[list[int] | None, typer.Option("--jobs", "-j", help="1, 2, 4 and 8; can be repeated.")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Grades for each second and memory for each worker."""
    _check_place(write)
    tools = find_toolchain()
    counts = tuple(jobs or throughput.JOBS)
    before = machine(tools)
    with console.progress_bar("measuring", 2 * len(counts)) as progress:

        def step() -> None:
            progress.advance(progress.task_ids[0])

        results = _run(throughput.measure(subjects()[ARBITER], seconds, tools, jobs=counts, on_step=step))
    data = {"before": before, "after": machine(tools), "results": [result.to_json() for result in results]}
    _show("throughput", data, [throughput_table(results)], as_json, write)


@app.command("soak")
def soak_command(
    grades: Annotated[int, typer.Option(min=1, help="How many in a row.")] = 5000,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many at a time.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Write every sample to this JSON file.")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Thousands of grades in a row: memory, faults, wrong verdicts, and what is left behind."""
    _check_place(write)
    tools = find_toolchain()
    before = machine(tools)
    with console.progress_bar("grading", grades) as progress:

        def graded(state: soak.Soak) -> None:
            note = f"{state.outcomes['error']} errors, {len(state.unexpected)} unexpected"
            progress.update(progress.task_ids[0], completed=state.grades, note=note)

        result = _run(soak.run(grades, tools, jobs=jobs, on_grade=graded))
    data = {"before": before, "after": machine(tools), "jobs": jobs, "result": result.to_json()}
    if out is not None:
        out.write_text(json.dumps(data, indent=2))
    _show("soak", data, [soak_table(result)], as_json, write)
    if not result.good:
        raise typer.Exit(console.SOME_FAILED)


@app.command("backend")
def backend_command(
    rounds: Annotated[int, typer.Option(min=1, help="Each runs both sides once.")] = 3,
    models: Annotated[list[str] | None, typer.Option("--model", help="A model (can be repeated).")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Sampling and training by our own server, through the SDK, against transformers on the same weights."""
    _check_place(write)
    tools = find_toolchain()
    names = models or ["rtl-agent/student", "rtl-agent/teacher"]
    before = machine(tools)
    with console.progress_bar("rounds", len(names) * 4 * (rounds + 1)) as progress:
        results = backend.measure(names, rounds, on_step=lambda: progress.advance(progress.task_ids[0]))
    data = {"before": before, "after": machine(tools), "results": [result.to_json() for result in results]}
    _show("backend", data, [backend_table(results)], as_json, write)


def _run(measuring: Any) -> Any:
    try:
        return asyncio.run(measuring)
    except BaselineFailed as error:
        console.say_error(f"a reference did not pass, so there is nothing to measure: {error}")
        raise typer.Exit(console.OUR_FAULT) from error


def _check_place(write: bool) -> None:
    if write and not document.PLACE.parent.is_dir():
        raise typer.BadParameter(
            f"there is no {document.PLACE.parent} here: run it in a checkout", param_hint="--write"
        )


def _show(name: str, data: dict[str, Any], tables: Sequence[Table], as_json: bool, write: bool) -> None:
    where = in_a_sentence(data["before"], data["after"])
    if write:
        command = " ".join(["rtl-agent", *sys.argv[1:]])
        if data_folder := os.environ.get("RTL_AGENT_CVDP"):  # a document names no folder of one machine
            command = command.replace(data_folder, "$RTL_AGENT_CVDP")
        document.write_section(name, command, where, tables)
    if as_json:
        console.print_json(data)
        return
    for table in tables:
        shown = RichTable(*table.heads)
        for row in table.rows:
            shown.add_row(*row)
        console.out.print(shown)
        for sentence in table.words:
            console.out.print(sentence, markup=False)
    console.out.print(where, markup=False, highlight=False)

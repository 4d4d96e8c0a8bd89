"""`rtl-agent bench`: what grading, sampling and training cost on this machine."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtl_agent.bench import (
    backend,
    document,
    grader,
    large_model,
    overlap,
    parts,
    real,
    sandboxes,
    service,
    soak,
    throughput,
    view,
)
from rtl_agent.bench.cold import BaselineFailed
from rtl_agent.bench.meter import in_a_sentence, machine
from rtl_agent.bench.report import (
    Table,
    backend_table,
    grader_tables,
    large_table,
    parts_table,
    real_table,
    sandboxes_table,
    service_table,
    soak_table,
    throughput_table,
)
from rtl_agent.bench.subjects import ARBITER, subjects
from rtl_agent.cli import console, tables
from rtl_agent.cli.console import AsJson
from rtl_agent.problems import load_problems
from rtl_agent.sandbox import SANDBOXES, ContainedSandbox, in_container
from rtl_agent.toolchain import find_toolchain

OWN_MODELS = ("rtl-agent/student", "rtl-agent/teacher")

app = typer.Typer(help="Measure the grader and the backend on this machine.", no_args_is_help=True)
Write = Annotated[bool, typer.Option("--write", help=f"Write the result into {document.PLACE}.")]


@app.command("grader", short_help="CPU time of a grade.")
def grader_command(
    rounds: Annotated[int, typer.Option(min=1, help="How often each variant is run.")] = 7,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this problem (can be repeated).")
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """CPU time of a grade on both paths, against the harness as CVDP runs it and against a lower bound."""
    _check_place(write)
    problems = {name: problem for name, problem in subjects().items() if not only or name in only}
    if not problems:
        raise typer.BadParameter(
            f"none of the problems has that name; choose from {', '.join(subjects())}", param_hint="--only"
        )
    tools = find_toolchain()
    before = machine(tools)
    with console.progress_bar("rounds", rounds * len(problems) * 5) as progress:
        measuring = grader.measure(problems, rounds, tools, on_step=lambda: progress.advance(progress.task_ids[0]))
        results = _run(measuring)
        spent = _run(parts.parts(problems[ARBITER], tools)) if ARBITER in problems else []
    after = machine(tools)
    data = {"before": before, "after": after, "results": [result.to_json() for result in results]}
    data["parts"] = [asdict(part) for part in spent]
    measured = [*grader_tables(results), *([parts_table(spent)] if spent else [])]
    _show("grader", data, measured, as_json, write)


@app.command("real", short_help="CPU time over real problems.")
def real_command(
    problems: Annotated[
        list[str], typer.Argument(metavar="PROBLEMS...", help="JSONL files or folders of them, as `grade` takes them.")
    ],
    rows: Annotated[Path, typer.Option(help="Where each problem's result is kept; the same command resumes.")] = Path(
        "bench-real.jsonl"
    ),
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """CPU time over real problems, graded with the files that they give: as CVDP runs them, and on the fast path."""
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
    seconds: Annotated[float, typer.Option(min=0.5, help="How long to measure each number of jobs.")] = 20.0,
    jobs: Annotated[
        list[int] | None,
        typer.Option(
            "--jobs", "-j", metavar="JOBS", help="How many at a time (can be repeated). [default: 1, 2, 4, 8]"
        ),
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Grades per second and memory per worker."""
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


@app.command("soak", short_help="Thousands of grades in a row.")
def soak_command(
    grades: Annotated[int, typer.Option(min=1, help="How many to grade in a row.")] = 5000,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many at a time.")] = 2,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every measurement to this JSON file.")] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Thousands of grades in a row: memory, errors, wrong verdicts, leftover files and processes."""
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


@app.command("service", short_help="A grade server under load.")
def service_command(
    grades: Annotated[int, typer.Option(min=20, help="How many to ask for.")] = 5000,
    clients: Annotated[int, typer.Option(min=1, help="How many clients ask at once.")] = 50,
    kills: Annotated[int, typer.Option(min=0, help="How often the server is killed or stopped in between.")] = 10,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="How many are judged at a time. [default: one per core]")
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Many clients on loopback against a grade server that is killed again and again: lost, wrong and double grades."""
    _check_place(write)
    tools = find_toolchain()
    before = machine(tools)
    with console.progress_bar("grading", grades) as progress:

        def graded(load: service.Load) -> None:
            note = f"{load.kills + load.stops} ends, {load.lost_connections} sent again, {len(load.wrong)} wrong"
            progress.update(progress.task_ids[0], completed=load.answered, note=note)

        result = _run(service.run(grades, clients=clients, kills=kills, jobs=jobs, on_grade=graded))
    data = {"before": before, "after": machine(tools), "result": result.to_json()}
    _show("service", data, [service_table(result)], as_json, write)
    if not result.good:
        raise typer.Exit(console.SOME_FAILED)


@app.command("sandboxes", short_help="A grade in each sandbox.")
def sandboxes_command(
    rounds: Annotated[int, typer.Option(min=1, help="How often each sandbox is run.")] = 9,
    names: Annotated[
        list[str] | None,
        typer.Option("--sandbox", metavar="NAME", help="Only this one (can be repeated). [default: those that work]"),
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Wall time of a grade in every sandbox that works on this machine, and its ratio to bubblewrap."""
    _check_place(write)
    chosen = []
    usual = [name for name in SANDBOXES if name != ContainedSandbox.name or in_container()]
    for name in names or usual:
        if obstacles := SANDBOXES[name].obstacles():
            console.say_warning(f"left out {name}: {obstacles[0]}")
        else:
            chosen.append(name)
    if not chosen:
        console.say_error("none of these sandboxes works here")
        raise typer.Exit(console.SOME_FAILED)
    tools = find_toolchain()
    before = machine(tools)
    with console.progress_bar("rounds", sandboxes.steps(chosen, rounds)) as progress:
        step = lambda: progress.advance(progress.task_ids[0])  # noqa: E731
        results = _run(sandboxes.measure(chosen, subjects()[ARBITER], rounds, tools, on_step=step))
    data = {"before": before, "after": machine(tools), "results": [one.to_json() for one in results]}
    _show("sandboxes", data, [sandboxes_table(results)], as_json, write)


@app.command("backend", short_help="Sampling and training speed.")
def backend_command(
    rounds: Annotated[int, typer.Option(min=1, help="How often both sides are run.")] = 3,
    models: Annotated[
        list[str] | None, typer.Option("--model", metavar="MODEL", help="Only this model (can be repeated).")
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Sampling and training speed of our own server, through the SDK, against transformers with the same weights."""
    from rtl_agent.backends.engine.contract import EngineError
    from rtl_agent.backends.engine.registry import choose_engine

    _check_place(write)
    tools = find_toolchain()
    names = [str(Path(name).absolute()) if Path(name).is_dir() else name for name in models or OWN_MODELS]
    try:
        large = [name for name in names if choose_engine(name) == "transformers"]
    except EngineError as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    if large and large != names:
        raise typer.BadParameter("models of different engines are measured in separate runs", param_hint="--model")
    if len(large) > 1:
        raise typer.BadParameter("one large model at a time", param_hint="--model")
    before = machine(tools)
    steps = large_model.PARTS * (rounds + 1) if large else len(names) * 4 * (rounds + 1)
    with console.progress_bar("rounds", steps) as progress:
        step = lambda: progress.advance(progress.task_ids[0])  # noqa: E731
        if large:
            found = large_model.measure_large(large[0], rounds, step)
            name, data, table = "large", [found.to_json()], large_table(found)
        else:
            results = backend.measure(names, rounds, on_step=step)
            name, data, table = "backend", [result.to_json() for result in results], backend_table(results)
    _show(name, {"before": before, "after": machine(tools), "results": data}, [table], as_json, write)


@app.command("view", short_help="Opening runs in the browser.")
def view_command(
    rollouts: Annotated[int, typer.Option(min=1, help="How many rollouts a run has.")] = 10_000,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the runs are made: 1.6 GB for 10,000 rollouts. [default: temporary files]"),
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """The server of `rtl-agent view` over runs of many rollouts: opening them, showing one, searching; and its page
    in the browser, where there is one: first paint, and frames while the list scrolls."""
    _check_place(write)
    tools = find_toolchain()
    before = machine(tools)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="rtl-agent-bench-") as made,
        console.progress_bar("runs made and measured", 2 * len(view.SIZES)) as progress,
    ):
        results = view.measure(Path(made), rollouts, lambda: progress.advance(progress.task_ids[0]))
    data = {"before": before, "after": machine(tools), "results": [one.to_json() for one in results]}
    _show("view", data, [view.view_table(results)], as_json, write)


EMBEDDED_WORDS = (
    "preset=small generated_problems=800 batch_size=8 group_size=2 max_tokens=160 learning_rate=1e-3 "
    "kl_penalty_coef=0 reward_coef=0 eval_problems=48 save_every=20 preflight_problems=0"
)


@app.command("overlap", short_help="Sampling ahead of training.")
def overlap_command(
    embedded: Annotated[
        bool, typer.Option("--embedded", help="On the embedded server, which learns; else on one that only waits.")
    ] = False,
    scale: Annotated[float, typer.Option(min=1, help="How much faster than the simulated server time goes.")] = 10.0,
    steps: Annotated[
        int | None, typer.Option(min=2, help="Steps of each run. [default: 8, and 40 with --embedded]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each kind on the embedded server.")] = 3,
    folder: Annotated[
        Path | None, typer.Option(help="Where the runs are kept; the same command resumes. [default: temporary files]")
    ] = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Steps an hour by how far a run samples ahead of training (max_steps_off_policy)."""
    _check_place(write)
    tools = find_toolchain()
    before = machine(tools)
    with tempfile.TemporaryDirectory(prefix="rtl-agent-bench-") as made:
        place = folder or Path(made)
        with console.progress_bar("runs", 2 * seeds if embedded else 7) as progress:
            step = lambda: progress.advance(progress.task_ids[0])  # noqa: E731
            try:
                if embedded:
                    words = [*EMBEDDED_WORDS.split(), f"max_steps={steps or 40}", f"eval_every={steps or 40}"]
                    found = overlap.measure_embedded(place, seeds, words, step)
                    name, table = "ahead", overlap.embedded_table(found)
                else:
                    found = overlap.measure_remote(place, scale, steps or 8, step)
                    name, table = "overlap", overlap.remote_table(found, scale)
            except overlap.RunFailed as error:
                console.say_error(f"a run did not come to its end: {error}")
                raise typer.Exit(console.OUR_FAULT) from error
    data = {"before": before, "after": machine(tools), "results": [one.to_json() for one in found]}
    _show(name, data, [table], as_json, write)


def _run(measuring: Any) -> Any:
    try:
        return asyncio.run(measuring)
    except BaselineFailed as error:
        console.say_error(f"a reference did not pass, so nothing can be measured: {error}")
        raise typer.Exit(console.OUR_FAULT) from error


def _check_place(write: bool) -> None:
    if write and not document.PLACE.parent.is_dir():
        raise typer.BadParameter(
            f"there is no directory {document.PLACE.parent} here: run the command in a checkout of the repository",
            param_hint="--write",
        )


def _show(name: str, data: dict[str, Any], measured: Sequence[Table], as_json: bool, write: bool) -> None:
    where = in_a_sentence(data["before"], data["after"])
    if write:
        # A document names no folder of one machine.
        command = " ".join(["rtl-agent", *(Path(word).name if Path(word).is_dir() else word for word in sys.argv[1:])])
        if data_folder := os.environ.get("RTL_AGENT_CVDP"):  # a document names no folder of one machine
            command = command.replace(data_folder, "$RTL_AGENT_CVDP")
        document.write_section(name, command, where, measured)
    if as_json:
        console.print_json(data)
        return
    for table in measured:
        first, *others = table.heads
        columns = [tables.Column(head, right=True, drop=max(0, at - 3)) for at, head in enumerate(others)]
        shown = tables.Table(tables.Column(first, whole=True), *columns)
        for row in table.rows:
            shown.add(*map(escape, row))
        shown.print()
        for sentence in table.words:
            tables.print_plain(sentence)
    tables.print_plain(where)

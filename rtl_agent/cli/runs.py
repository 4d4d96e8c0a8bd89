"""`rtl-agent runs list | show | compare`."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson
from rtl_agent.report.exam import SETS, WHO, Exam, read_exam
from rtl_agent.runs import RunError, RunRecord, compare, flatten, list_runs, read_run, summarise

REWARD, PASS_RATE, HELD_OUT = "env/all/reward/total", "env/all/pass_rate", "test/env/all/pass_rate"
RUNS_FOLDER = Path("runs")
_BARS = "▁▂▃▄▅▆▇█"

app = typer.Typer(help="Look at training runs, and compare them.", no_args_is_help=True)

RunPath = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or its name in ./runs.")]


def find_run(name: str) -> Path:
    """A path as given, or a name in the usual folder."""
    return Path(name) if Path(name).exists() or not (RUNS_FOLDER / name).exists() else RUNS_FOLDER / name


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """Values as a row of bars, each the mean of its share of the steps."""
    if not values:
        return ""
    columns = min(width, len(values))
    edges = [round(column * len(values) / columns) for column in range(columns + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    span = high - low
    return "".join(_BARS[round((mean - low) / span * (len(_BARS) - 1))] if span else _BARS[0] for mean in means)


def about(run: RunRecord) -> dict[str, Any]:
    """A run in one line."""
    config = run.config
    return {
        "name": run.name,
        "path": str(run.path),
        "running": run.is_running,
        "model": config.get("student") or config.get("student_model") or config.get("model_name"),
        "teacher": config.get("teacher") or config.get("teacher_model"),
        "steps": run.steps,
        "checkpoints": len(run.checkpoints),
        "reward": summarise(run, REWARD).recent,
        "pass_rate": summarise(run, PASS_RATE).recent,
        "held_out_pass_rate": summarise(run, HELD_OUT).last,
    }


@app.command("list")
def list_(
    root: Annotated[Path, typer.Argument(metavar="ROOT", help="The folder that holds the runs.")] = RUNS_FOLDER,
    as_json: AsJson = False,
) -> None:
    """One line for each run, the newest first; reward and pass rate are means of the last 10 steps."""
    runs = []
    for path in list_runs(root):
        try:
            runs.append(read_run(path))
        except RunError as error:
            console.say_warning(f"left out: {error}")
    if as_json:
        console.print_json([about(run) for run in runs])
        return
    table = Table("run", "", "model", "steps", "reward", "over time", "pass rate", "held out")
    for run in runs:
        facts = about(run)
        table.add_row(
            _words(run.name),
            "[green]running[/]" if run.is_running else "",
            _words(facts["model"] or ""),
            str(facts["steps"]),
            _number(facts["reward"]),
            sparkline([value for _, value in run.series(REWARD)], width=16),
            _number(facts["pass_rate"]),
            _number(facts["held_out_pass_rate"]),
        )
    console.out.print(table)
    console.out.print(f"{len(runs)} runs in {_words(root)}", highlight=False)


@app.command()
def show(run: RunPath, as_json: AsJson = False) -> None:
    """One run: its config, its exam, its checkpoints, and each metric at first, at last, and over time."""
    record = read_run(find_run(run))
    exam = read_exam(record.path)
    metrics = {name: record.series(name) for name in record.metric_names()}
    if as_json:
        console.print_json(
            {
                **about(record),
                "config": _encodable(record.config),
                "exam": _encodable(_exam_rates(exam)),
                "metrics": {name: summarise(record, name).__dict__ for name, series in metrics.items() if series},
                "checkpoints": [checkpoint.to_json() for checkpoint in record.checkpoints],
            }
        )
        return
    going = ", still going" if record.is_running else ""
    console.out.print(f"[bold]{_words(record.name)}[/]: {record.steps} steps{going}", highlight=False)
    config = Table(_folded("option"), _folded("value"), title="config", title_justify="left")
    for name, value in flatten(record.config):
        config.add_row(_words(name), _words(value))
    console.out.print(config)
    if exam:
        console.out.print(exam_table(exam))
    if not record.metrics:
        console.out.print("no step has been done yet")
        return
    table = Table(_folded("metric"), "first", "last", "mean of 10", "over time", title="metrics", title_justify="left")
    for name, series in metrics.items():
        if series:
            values = [value for _, value in series]
            summary = summarise(record, name)
            table.add_row(
                _words(name), _number(values[0]), _number(summary.last), _number(summary.recent), sparkline(values)
            )
    console.out.print(table)
    _print_checkpoints(record)


@app.command("compare")
def compare_(a: RunPath, b: RunPath, as_json: AsJson = False) -> None:
    """Two runs: options that differ, and their metrics at last and as means of the last 10 steps."""
    comparison = compare(read_run(find_run(a)), read_run(find_run(b)))
    if as_json:
        console.print_json(
            {
                "a": comparison.a,
                "b": comparison.b,
                "config": _encodable({change.option: [change.before, change.after] for change in comparison.config}),
                "metrics": {
                    pair.name: {"a": pair.a.__dict__, "b": pair.b.__dict__, "change": pair.change}
                    for pair in comparison.metrics
                },
            }
        )
        return
    options = Table("option", _words(a), _words(b), title="config", title_justify="left")
    for change in comparison.config:
        options.add_row(_words(change.option), _words(change.before), _words(change.after))
    console.out.print(options if comparison.config else "the configs are the same")
    metrics = Table(
        _folded("metric"), "last a", "last b", "mean a", "mean b", "change", title="metrics", title_justify="left"
    )
    for pair in comparison.metrics:
        cells = (pair.a.last, pair.b.last, pair.a.recent, pair.b.recent)
        difference = "" if pair.change is None else f"{pair.change:+.4g}"
        metrics.add_row(_words(pair.name), *map(_number, cells), difference)
    console.out.print(metrics if comparison.metrics else "neither run has metrics")


def _exam_rates(exam: Exam) -> dict[str, Any]:
    """Set -> who -> pass rates and reward."""
    return {
        name: {
            who: {"greedy": found.greedy, "temperature_1": found.sampled, "reward": found.reward}
            for who, found in people.items()
        }
        for name, people in exam.items()
    }


def exam_table(exam: Exam) -> Table:
    table = Table(
        "problems", "who", "pass, greedy", "pass, temperature 1", "reward", title="exam", title_justify="left"
    )
    for name, people in exam.items():
        for who, found in people.items():
            asked = f"{found.problems or ''} {_words(SETS.get(name, name))}".strip()
            rates = ("" if rate is None else f"{100 * rate:.1f} %" for rate in (found.greedy, found.sampled))
            table.add_row(asked, WHO[who], *rates, _number(found.reward))
    return table


def _print_checkpoints(run: RunRecord) -> None:
    if not run.checkpoints:
        return
    table = Table(
        "checkpoint", "steps done", "held out", "", _folded("state"), title="checkpoints", title_justify="left"
    )
    for checkpoint in run.checkpoints:
        best = "[green]best[/]" if checkpoint.best else ""
        state = _words(checkpoint.state_path or "")
        table.add_row(_words(checkpoint.name), str(checkpoint.step), _number(checkpoint.value), best, state)
    console.out.print(table)


def _folded(header: str) -> Column:
    """Names and paths are there to be copied: never cut short."""
    return Column(header, overflow="fold")


def _encodable(config: Mapping[str, Any]) -> Any:
    """A path that is not UTF-8 reaches a config as lone surrogates, which no stream takes."""
    return json.loads(json.dumps(dict(config), ensure_ascii=False).encode(errors="replace"))


def _words(value: object) -> str:
    """Data as text: no markup, and nothing that a terminal would obey or could not show."""
    shown = (mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in str(value))
    return escape("".join(shown))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"

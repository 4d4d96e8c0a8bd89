"""`rtl-agent runs list | show | compare` for the terminal, `rtl-agent report` for the browser."""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson
from rtl_agent.cli.tables import Column, Table
from rtl_agent.registry import did_you_mean
from rtl_agent.report import write_report
from rtl_agent.report.exam import SETS, WHO, Exam, read_exam
from rtl_agent.runs import (
    HEADLINE,
    Comparison,
    MetricPair,
    RunError,
    RunRecord,
    compare,
    first_tenth,
    flatten,
    last_tenth,
    list_runs,
    read_run,
    summarise,
)
from rtl_agent.runs.episode import Episode
from rtl_agent.runs.index import open_regular, stored_lines
from rtl_agent.runs.rows import record_of

REWARD, PASS_RATE, HELD_OUT = HEADLINE["reward"], HEADLINE["pass rate"], HEADLINE["held-out pass rate"]
RUNS_FOLDER = Path("runs")
_BARS = "▁▂▃▄▅▆▇█"

app = typer.Typer(help="Show training runs, and compare them.", no_args_is_help=True)

RunPath = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or its name in ./runs.")]


def find_run(name: str) -> Path:
    """A path as given, or a name in the usual folder."""
    return Path(name) if Path(name).exists() or not (RUNS_FOLDER / name).exists() else RUNS_FOLDER / name


def existing_run(name: str) -> Path:
    """The same; RunError, with what may have been meant, where there is neither."""
    path = find_run(name)
    if not path.exists():
        known = [run.name for run in list_runs(RUNS_FOLDER)] if RUNS_FOLDER.is_dir() else []
        near = did_you_mean(name, known)
        raise RunError(f"there is no run {name}{near}; `rtl-agent runs list` lists those in ./runs")
    return path


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
    return {
        "name": run.name,
        "path": str(run.path),
        "running": run.is_running,
        "model": run.student,
        "teacher": run.teacher,
        "steps": run.steps,
        "seconds": run.seconds,
        "command": run.command,
        "checkpoints": len(run.checkpoints),
        "reward": summarise(run, REWARD).recent,
        "pass_rate": summarise(run, PASS_RATE).recent,
        "held_out_pass_rate": summarise(run, HELD_OUT).last,
    }


@app.command("list")
def list_(
    root: Annotated[Path, typer.Argument(metavar="ROOT", help="The directory that holds the runs.")] = RUNS_FOLDER,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first. Reward and pass rate are means of the last 10 steps."""
    runs = []
    for path in list_runs(root):
        try:
            runs.append(read_run(path))
        except RunError as error:
            console.say_warning(f"left out: {error}")
    if as_json:
        console.print_json([_encodable(about(run)) for run in runs])
        return
    table = Table(
        Column("run", whole=True),
        Column("state", drop=2),
        Column("model", drop=3),
        Column("steps", right=True),
        Column("reward", right=True),
        Column("reward over time", drop=4),
        Column("pass rate", right=True),
        Column("held out", right=True),
    )
    for run in runs:
        facts = about(run)
        table.add(
            _words(run.name),
            "[green]running[/]" if run.is_running else "",
            _words(facts["model"] or ""),
            str(facts["steps"]),
            _number(facts["reward"]),
            sparkline([value for _, value in run.series(REWARD)], width=16),
            _number(facts["pass_rate"]),
            _number(facts["held_out_pass_rate"]),
        )
    table.print()
    console.out.print(f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} in {_words(root)}", highlight=False)


@app.command(short_help="Show one run: results, exam, checkpoints, options, metrics.")
def show(run: RunPath, as_json: AsJson = False) -> None:
    """Show one run: what it learned first, then its exam, checkpoints and options, then every metric."""
    record = read_run(existing_run(run))
    exam = read_exam(record.path)
    metrics = {name: series for name in record.metric_names() if (series := record.series(name))}
    if as_json:
        shown = {
            **about(record),
            "config": record.config,
            "exam": _exam_rates(exam),
            "metrics": {name: summarise(record, name).__dict__ for name in metrics},
            "checkpoints": [checkpoint.to_json() for checkpoint in record.checkpoints],
        }
        console.print_json(_encodable(shown))
        return
    _print_facts(record)
    if metrics:
        _print_headline(record)
    else:
        console.out.print("no step has been done yet")
    if exam:
        exam_table(exam).print()
    _print_checkpoints(record)
    config = Table(Column("option", whole=True), "value", title="options")
    for name, value in flatten(record.config):
        config.add(_words(name), _words(value))
    config.print()
    if metrics:
        _print_metrics(record, metrics)


def _print_facts(run: RunRecord) -> None:
    learns = f", {_words(run.student)}" if run.student else ""
    learns += f" learning from {_words(run.teacher)}" if run.student and run.teacher else ""
    spent = f" in {run.seconds / 60:.1f} minutes" if run.seconds else ""
    going = ", still running" if run.is_running else ""
    _print_line(
        f"[bold]{_words(run.name)}[/]{learns}: {run.steps} {'step' if run.steps == 1 else 'steps'}{spent}{going}"
    )
    if run.command:
        _print_line(f"started by: {_words(run.command)}")
    if run.resumed_by:
        _print_line(f"resumed by: {_words(run.resumed_by)}")


def _print_headline(run: RunRecord) -> None:
    table = Table(
        Column("result", whole=True),
        Column("first tenth", right=True),
        Column("last tenth", right=True),
        Column("over time", drop=1),
    )
    for label, metric in HEADLINE.items():
        if points := run.series(metric):
            values = [value for _, value in points]
            table.add(label, _number(first_tenth(points)), _number(last_tenth(points)), sparkline(values, width=20))
    table.print()


def _print_metrics(run: RunRecord, metrics: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    table = Table(
        Column("metric", whole=True),
        Column("first", right=True, drop=2),
        Column("last", right=True),
        Column("mean of last 10", right=True, drop=1),
        Column("over time", drop=3),
        title="metrics",
    )
    for name, series in metrics.items():
        values = [value for _, value in series]
        summary = summarise(run, name)
        cells = (_number(values[0]), _number(summary.last), _number(summary.recent))
        table.add(_words(name), *cells, sparkline(values, width=20))
    table.print()


@app.command("compare", short_help="Compare two runs: results, options, metrics.")
def compare_(a: RunPath, b: RunPath, as_json: AsJson = False) -> None:
    """Compare two runs: results first, then options that differ, then every metric; means are of the last 10 steps."""
    comparison = compare(read_run(existing_run(a)), read_run(existing_run(b)))
    if as_json:
        shown = {
            "a": comparison.a,
            "b": comparison.b,
            "config": {change.option: [change.before, change.after] for change in comparison.config},
            "metrics": {
                pair.name: {"a": pair.a.__dict__, "b": pair.b.__dict__, "change": pair.change}
                for pair in comparison.metrics
            },
        }
        console.print_json(_encodable(shown))
        return
    _print_line(f"a: {_words(comparison.a)}\nb: {_words(comparison.b)}")
    _print_comparison(comparison)
    if comparison.config:
        options = Table(Column("option", whole=True), "a", "b", title="options that differ")
        for change in comparison.config:
            options.add(_words(change.option), _words(change.before), _words(change.after))
        options.print()
    else:
        console.out.print("the options are the same")
    if comparison.metrics:
        _pairs_table("metric", [(pair.name, pair) for pair in comparison.metrics], "metrics").print()


def _print_comparison(comparison: Comparison) -> None:
    by_name = {pair.name: pair for pair in comparison.metrics}
    leading = [(label, by_name[metric]) for label, metric in HEADLINE.items() if metric in by_name]
    if leading:
        _pairs_table("result", leading).print()
    elif not comparison.metrics:
        console.out.print("neither run has metrics")


def _pairs_table(first: str, pairs: Sequence[tuple[str, MetricPair]], title: str = "") -> Table:
    table = Table(
        Column(first, whole=True),
        Column("mean a", right=True),
        Column("mean b", right=True),
        Column("change", right=True, drop=2),
        Column("last a", right=True, drop=3),
        Column("last b", right=True, drop=3),
        title=title,
    )
    for label, pair in pairs:
        change = "" if pair.change is None else f"{pair.change:+.4g}"
        means, lasts = (pair.a.recent, pair.b.recent), (pair.a.last, pair.b.last)
        table.add(_words(label), *map(_number, means), change, *map(_number, lasts))
    return table


@app.command(short_help="Print the answer of one rollout, to be graded again.")
def answer(
    rollouts: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of rollouts, or the JSONL of an evaluation.")
    ],
    line: Annotated[int, typer.Argument(metavar="LINE", min=1, help="Which line of it, counted from 1.")],
) -> None:
    """Print one answer as `rtl-agent grade --response` takes it: a text, or a line of JSON with an agent's files.

    rtl-agent runs answer runs/demo/rollouts/step_000003.jsonl.gz 5 | rtl-agent grade bundled --id ID --response -
    """
    try:
        with open_regular(rollouts.resolve()) as file:
            stored = next(islice(stored_lines(file), line - 1, None), b"")
    except OSError as error:
        raise RunError(f"cannot read {rollouts}: {error.strerror or error}") from error
    record = None if isinstance(stored, int) else record_of(stored, numbers=False)
    if record is None:
        raise RunError(f"{rollouts} has no rollout in line {line}")
    sys.stdout.buffer.write(Episode.from_json(record).answer_file[1].encode(errors="replace"))


def report(
    run: RunPath,
    curves: Annotated[bool, typer.Option(help="Also write the curves as PNG files.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write report.html, a page that needs nothing else, and curves/*.png into the run directory."""
    written = write_report(existing_run(run), curves=curves)
    if written.curves_left_out:
        console.say_warning(
            "no PNG files were written, because matplotlib is missing (pip install 'rtl-agent[train]'); "
            "the curves on the page do not need it"
        )
    if as_json:
        console.print_json({"page": str(written.page), "curves": [str(path) for path in written.curves]})
        return
    for path in (written.page, *written.curves):
        typer.echo(path)


def _exam_rates(exam: Exam) -> dict[str, Any]:
    """Set -> model -> pass rates and reward."""
    return {
        name: {
            who: {"greedy": found.greedy, "temperature_1": found.sampled, "reward": found.reward}
            for who, found in models.items()
        }
        for name, models in exam.items()
    }


def exam_table(exam: Exam) -> Table:
    table = Table(
        Column("model", whole=True),
        Column("greedy", right=True),
        Column("temperature 1", right=True),
        Column("reward", right=True),
        "problems",
        title="exam: pass rate of greedy answers and at temperature 1, reward of greedy answers",
    )
    for name, models in exam.items():
        for who, found in models.items():
            asked = f"{found.problems} of " if found.problems is not None else ""
            rates = ("" if rate is None else f"{100 * rate:.1f} %" for rate in (found.greedy, found.sampled))
            table.add(WHO[who], *rates, _number(found.reward), f"{asked}{_words(SETS.get(name, name))}")
    return table


def _print_checkpoints(run: RunRecord) -> None:
    if not run.checkpoints:
        return
    table = Table(
        Column("checkpoint", whole=True),
        Column("steps done", right=True),
        Column("held out", right=True),
        "best",
        Column("state", drop=1),
        title="checkpoints",
    )
    for checkpoint in run.checkpoints:
        best = "[green]best[/]" if checkpoint.best else ""
        state = _words(checkpoint.state_path or "")
        table.add(_words(checkpoint.name), str(checkpoint.step), _number(checkpoint.value), best, state)
    table.print()


def _encodable(value: Mapping[str, Any]) -> Any:
    """A path that is not UTF-8 reaches a config as lone surrogates, which no stream takes."""
    return json.loads(json.dumps(dict(value), ensure_ascii=False).encode(errors="replace"))


def _words(value: object) -> str:
    """Data as text: no markup, and nothing that a terminal would obey or could not show."""
    shown = (mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in str(value))
    return escape("".join(shown))


def _print_line(markup: str) -> None:
    console.out.print(markup, highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"

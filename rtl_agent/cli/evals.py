"""`rtl-agent evals table | compare | export`: results of evaluations side by side."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson, harmless, out
from rtl_agent.cli.tables import Column, Table
from rtl_agent.runs import write_whole
from rtl_agent.runs.evaluations import StoredEvaluation, compare_evaluations, leaderboard, read_evaluation

app = typer.Typer(help="Compare what evaluations found, and hand it on.", no_args_is_help=True)

Results = Annotated[list[Path], typer.Argument(metavar="RESULT.json ...", help="What `rtl-agent eval` wrote.")]


@app.command("table")
def table_(results: Results, as_json: AsJson = False) -> None:
    """Show several results in one table: a row for each model and set, pass@k with 95 % intervals."""
    found = [read_evaluation(path) for path in results]
    if as_json:
        console.print_json([{"result": str(one.path), "model": one.model, **one.summary} for one in found])
        return
    print_table(found)


def print_table(found: Sequence[StoredEvaluation]) -> None:
    ks = sorted({at["k"] for one in found for at in one.summary.get("pass_at", ())})
    several = len({one.model for one in found}) > 1
    table = Table(
        *([Column("model", whole=True)] if several else []),
        Column("problems", whole=True),
        Column("level", drop=2),
        Column("number", right=True),
        *(Column(f"pass@{k}", whole=True, right=True) for k in ks),
        Column("reward", right=True, drop=1),
        title="" if several or not found else escape(harmless(found[0].model)),
    )
    for one in found:
        at = {entry["k"]: entry for entry in one.summary.get("pass_at", ())}
        table.add(
            *([escape(harmless(one.model))] if several else []),
            escape(harmless(_set_name(one))),
            escape(harmless(one.level)),
            str(sum(bool(problem.samples) for problem in one.problems)),
            *(_rate(at[k]) if k in at else "" for k in ks),
            f"{one.summary.get('reward', 0.0):.3f}" if one.is_score else "no score",
        )
    table.print()


def _set_name(one: StoredEvaluation) -> str:
    return Path(one.source).name if "/" in one.source else one.source


def _rate(entry: dict[str, float]) -> str:
    return f"{entry['unbiased']:.1%} ({entry['low']:.0%} to {entry['high']:.0%})"


@app.command("compare")
def compare_(
    a: Annotated[Path, typer.Argument(metavar="A.json")],
    b: Annotated[Path, typer.Argument(metavar="B.json")],
    common: Annotated[bool, typer.Option("--common", help="Compare the problems that both have.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two models on the same problems: McNemar's exact test, and a bootstrap interval of the difference."""
    first, second = read_evaluation(a), read_evaluation(b)
    found = compare_evaluations(first, second, common=common)
    if as_json:
        console.print_json({"a": str(a), "b": str(b), **found.to_json()})
        return
    several = found.samples_a + found.samples_b > 2 * found.problems
    test = "exact exchange test" if several else "McNemar's exact test"
    lines = (
        f"a: {first.model} on {_set_name(first)}, {found.pass_a:.1%} pass",
        f"b: {second.model} on {_set_name(second)}, {found.pass_b:.1%} pass",
        f"b - a: {found.difference * 100:+.1f} points; 95 % by bootstrap over {found.problems} problems: "
        f"{found.low * 100:+.1f} to {found.high * 100:+.1f}",
        f"over {found.families} families: {found.family_low * 100:+.1f} to {found.family_high * 100:+.1f}",
        f"{found.better_b} problems are better in b, {found.better_a} in a, "
        f"{found.problems - found.better_a - found.better_b} the same; {test}: p = {found.p:.3g}",
        *([f"{len(found.only_in)} problems that are not the same in both are left out"] if found.only_in else []),
        *(f"they also differ in {note}" for note in found.notes),
    )
    for line in lines:
        out.print(harmless(line), markup=False, highlight=False, soft_wrap=True)


@app.command("export")
def export_(
    results: Results,
    to: Annotated[Path | None, typer.Option("--out", help="A file. [default: print it]")] = None,
) -> None:
    """Write results as one JSON for leaderboards, in the shape of lm-evaluation-harness' results."""
    shown = leaderboard([read_evaluation(path) for path in results])
    if to is None:
        console.print_json(shown)
        return
    write_whole(to, (json.dumps(shown, indent=1, ensure_ascii=False) + "\n").encode())
    out.print(f"{to} has {len(shown['results'])} results", markup=False, highlight=False, soft_wrap=True)

"""`rtl-agent problems difficulty`: how often each problem was solved, and what to expect of the next answer."""

import time
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson, Categories, Difficulties, Families, Ids, SkipBad, Source
from rtl_agent.cli.tables import Column, Table, print_plain
from rtl_agent.difficulty import Difficulty, PassRates, default_pass_rates_path, difficulties
from rtl_agent.problems import Selection
from rtl_agent.registry import did_you_mean

ModelOption = Annotated[
    str, typer.Option("--model", "-m", metavar="M", help="Only what this model did. [default: all models together]")
]


def difficulty(
    source: Source = "bundled",
    model: ModelOption = "",
    ids: Ids = None,
    families: Families = None,
    categories: Categories = None,
    difficulties_: Difficulties = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """List problems, easiest first: how often they were solved and failed, when last, and the expected pass rate.

    Training and `eval` record every graded answer, by problem and model, beside the cache of grades. The prior is the
    pass rate that is expected before the first try: by the sizes of specification and reference, targets, ports,
    category, difficulty tag and family, fitted on those of PROBLEMS that were tried. Its error stands below the table.
    """
    selection = Selection(ids or (), families or (), categories or (), difficulties_ or ())
    problems = console.chosen(source, selection, skip_bad=skip_bad)
    with PassRates(default_pass_rates_path()) as rates:
        known = rates.models()
        if model and model not in known:
            near = did_you_mean(model, known)
            there = f"; tried were {', '.join(known)}" if known else ": `train` and `eval` record what models do"
            console.say_error(f"nothing is known of a model {model}{near}{there}")
            raise typer.Exit(console.BAD_INPUT)
        found, prior = difficulties(problems, rates, model=model)
    found = sorted(found, key=lambda one: (-one.estimate, one.problem.id))
    if as_json:
        errors = {"error": prior.error, "constant_error": prior.constant_error}
        fitted = {"problems": prior.problems, "tries": prior.tries, **errors, "weights": dict(prior.weights)}
        console.print_json({"model": model or None, "problems": list(map(_as_json, found)), "prior": fitted})
        return
    table = Table(
        Column("problem", whole=True),
        Column("difficulty", drop=2),
        Column("tried", right=True),
        Column("solved", right=True),
        Column("failed", right=True, drop=3),
        Column("pass rate", right=True),
        Column("last tried", drop=4),
        Column("prior", right=True, drop=1),
        Column("expected", right=True),
    )
    for one in found:
        tries = one.tries
        rate = "-" if tries.rate is None else f"{tries.rate:.0%}"
        counts = [str(number) if tries.tried else "-" for number in (tries.tried, tries.solved, tries.failed)]
        told = (escape(one.problem.id), escape(one.problem.difficulty))
        table.add(*told, *counts, rate, _when(tries.last), f"{one.prior:.0%}", f"{one.estimate:.0%}")
    table.print()
    print_plain(console.harmless(f"{model or 'all models'}; {prior}"))


def _as_json(one: Difficulty) -> dict[str, Any]:
    return {
        "id": one.problem.id,
        "digest": one.digest,
        "family": one.problem.family,
        "category": one.problem.category,
        "difficulty": one.problem.difficulty,
        "tried": one.tries.tried,
        "solved": one.tries.solved,
        "failed": one.tries.failed,
        "pass_rate": one.tries.rate,
        "last": _when(one.tries.last) or None,
        "prior": one.prior,
        "expected": one.estimate,
    }


def _when(seconds: float) -> str:
    """A time of UTC; nothing for never."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else ""

"""`rtl-agent problems audit` and `overlap`: how far may a trainer trust the tests, and was a problem seen before."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtl_agent.audit import AuditOptions, BadTable, audit_all, verified_answers
from rtl_agent.audit.overlap import NOTABLE, TOKENS, WORDS, Nearest, overlaps
from rtl_agent.cli import console
from rtl_agent.cli.console import (
    AsJson,
    Categories,
    Difficulties,
    Families,
    Ids,
    Jobs,
    Kinds,
    Side,
    SkipBad,
    Source,
)
from rtl_agent.cli.tables import Column, Table, print_plain
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Problem, Selection

COLOURS = {"A": "green", "B": "green", "C": "yellow", "D": "yellow", "E": "red", "F": "red"}

Samples = Annotated[
    Path | None,
    typer.Option(
        "--samples",
        exists=True,
        file_okay=False,
        help="A folder with runs or evaluations: answers that passed there count as right designs.",
    ),
]
Mutants = Annotated[int, typer.Option(min=1, help="How many mutants of each right design.")]
Seeds = Annotated[int, typer.Option(min=1, help="With how many seeds the same right design is graded.")]
Seed = Annotated[int, typer.Option(help="Chooses among the mutants.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        file_okay=False,
        help="A folder for a JSON of each problem, written as it ends; what is there already and current is not done "
        "again. Hand the folder to `train` and `eval` with trust_table.",
    ),
]
Timeout = Annotated[float, typer.Option("--timeout", min=1, help="Seconds for one service of a harness.")]


def audit(
    source: Source = "bundled",
    samples: Samples = None,
    out: Out = None,
    mutants: Mutants = 40,
    seeds: Seeds = 20,
    seed: Seed = 0,
    ids: Ids = None,
    families: Families = None,
    categories: Categories = None,
    difficulties: Difficulties = None,
    kinds: Kinds = None,
    split: Side = None,
    skip_bad: SkipBad = False,
    jobs: Jobs = None,
    timeout: Timeout = 60.0,
    cache: Annotated[bool, typer.Option(help="Cache grades, so that the same text is not graded twice.")] = True,
    as_json: AsJson = False,
) -> None:
    """Try each problem's tests: mutants of right designs, designs that tell nothing, stuck outputs, seeds, names.

    Exit code 0: every problem is trusted (A or B); 1: some are not; 2: bad usage or input; 3: an internal error.
    docs/audit.md says what each finding means and how a grade comes about.
    """
    selection = Selection(ids or (), families or (), categories or (), difficulties or (), kinds or (), (), split)
    found = console.chosen(source, selection, skip_bad=skip_bad)
    problems = [problem for problem in found if problem.needs is Needs.OPEN_TOOLS]
    for need in (Needs.COMMERCIAL, Needs.TEXT):
        if count := sum(problem.needs is need for problem in found):
            console.say_warning(f"{count} problems are left out: they need {NEEDS_IN_WORDS[need]}")
    options = AuditOptions(mutants=mutants, seeds=seeds, seed=seed)
    answers = verified_answers(samples, problems) if samples else {}
    try:
        audits = asyncio.run(_audit_all(problems, options, answers, out, jobs, timeout, cache))
    except BadTable as error:
        console.say_error(f"{error}; remove it, or name another folder with --out")
        raise typer.Exit(console.BAD_INPUT) from error
    if as_json:
        console.print_json(audits)
    else:
        _print(audits)
    if any(one["errors"] for one in audits):
        raise typer.Exit(console.OUR_FAULT)
    if any(one["trust"] not in ("A", "B") for one in audits):
        raise typer.Exit(console.SOME_FAILED)


async def _audit_all(
    problems: Sequence[Problem],
    options: AuditOptions,
    answers: Mapping[str, Sequence[Mapping[str, str]]],
    out: Path | None,
    jobs: int | None,
    timeout: float,
    cache: bool,
) -> list[dict[str, Any]]:
    with console.progress_bar("auditing", len(problems)) as progress:
        return await audit_all(
            problems,
            options,
            out=out,
            answers=answers,
            jobs=jobs,
            timeout=timeout,
            cache=cache,
            told=lambda: progress.advance(progress.task_ids[0]),
        )


def _print(audits: Sequence[Mapping[str, Any]]) -> None:
    table = Table(
        Column("problem", whole=True),
        "trust",
        Column("mutants noticed", drop=1),
        Column("interval", drop=4),
        Column("equivalent", drop=6),
        Column("undecided", drop=7),
        Column("unobserved", drop=3),
        Column("CPU s", drop=5),
        Column("why", drop=2),
    )
    for one in audits:
        table.add(escape(str(one["id"])), f"[{COLOURS[one['trust']]}]{one['trust']}[/]", *_cells(one))
    table.print()
    counts = Counter(str(one["trust"]) for one in audits)
    print_plain(f"{len(audits)} problems: " + ", ".join(f"{counts[grade]} {grade}" for grade in sorted(counts)))


def _cells(one: Mapping[str, Any]) -> list[str]:
    score = one["score"]
    told = ["-"] * 4
    if score is not None and score["score"] is not None:
        of = score["killed"] + score["survived"] + score["undecided"]
        share = f"{score['killed']} of {of}, {100 * score['score']:.0f} %"
        told = [
            share,
            f"{100 * score['low']:.0f}-{100 * score['high']:.0f} %",
            str(score["equivalent"]),
            str(score["undecided"]),
        ]
    blind = [name for name, at in one["outputs"].items() if at and set(at.values()) == {"passed"}]
    cpu = "-" if one["cpu_seconds"] is None else f"{one['cpu_seconds']:.1f}"
    why = console.harmless("; ".join(one["reasons"]))
    return [*told, escape(", ".join(blind)) or "-", cpu, escape(why)]


def overlap(
    a: Annotated[str, typer.Argument(metavar="A", help="PROBLEMS that are to be tested on, for instance.")],
    b: Annotated[str, typer.Argument(metavar="B", help="PROBLEMS that are trained on.")],
    at_least: Annotated[
        float, typer.Option(min=0, max=1, help="List problems of A that share this much with one of B.")
    ] = NOTABLE,
    words: Annotated[int, typer.Option(min=1, help="Words of a specification in a row.")] = WORDS,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of RTL in a row.")] = TOKENS,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Find problems of A that are also in B: by runs of words of their specification, and of tokens of their RTL.

    Names and comments are no part of the comparison of RTL, and what problems of several families share does not count.
    """
    first, second = (console.chosen(source, Selection(), skip_bad=skip_bad) for source in (a, b))
    found = overlaps(first, second, words=words, rtl=tokens)
    listed = sorted((one for one in found if one.most >= at_least), key=lambda one: -one.most)
    if as_json:
        shown = {"a": a, "b": b, "words": words, "tokens": tokens, "of": [len(first), len(second)]}
        console.print_json({**shown, "problems": [one.to_json() for one in found]})
        return
    if listed:
        table = Table(Column("problem of A", whole=True), "specification", "RTL")
        for one in listed:
            table.add(escape(one.id), _share(one.specification), _share(one.rtl))
        table.print()
    most = f"{at_least:.0%}"
    for what, shares in (
        ("specification", [one.specification_seen for one in found if one.specification_seen is not None]),
        ("RTL", [one.rtl_seen for one in found if one.rtl_seen is not None]),
    ):
        mean = f"{sum(shares) / len(shares):.1%} of its runs are somewhere in B" if shares else "no text of its own"
        print_plain(f"{what}: {len(shares)} problems of A; on average {mean}")
    print_plain(f"{len(listed)} of {len(first)} problems share {most} or more with one of {len(second)}")


def _share(nearest: Nearest | None) -> str:
    return "-" if nearest is None else f"{nearest.share:.0%} {escape(nearest.id)}"

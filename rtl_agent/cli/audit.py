"""`rtl-agent problems audit`: how good are the tests of problems, and how far may a trainer trust them."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rtl_agent.audit import (
    AUDIT_VERSION,
    AuditOptions,
    Auditor,
    BadTable,
    Findings,
    is_current,
    read_audit,
    trust_of,
    verified_answers,
    write_audit,
)
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
from rtl_agent.grading import GradeCache, Grader, default_cache_path
from rtl_agent.problems import NEEDS_IN_WORDS, NearMiss, Needs, Problem, Selection, load_near_misses, read_near_misses

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
    kept = {problem.id: _kept(out, problem) for problem in problems}
    misses = _near_misses(problems)
    async with (
        Grader(jobs=jobs, timeout_seconds=timeout, cache=GradeCache(default_cache_path() if cache else None)) as grader,
        Auditor(grader, options) as auditor,
    ):
        with console.progress_bar("auditing", len(problems)) as progress:
            # Two at a time: one compares designs while the other's trials are graded.
            turns = asyncio.Semaphore(2)

            async def one(problem: Problem) -> dict[str, Any]:
                done = kept[problem.id]
                if done is None:
                    async with turns:
                        findings = await auditor.audit(problem, misses[problem.id], answers.get(problem.id, ()))
                        done = write_audit(out, findings) if out is not None else _as_json(findings)
                progress.advance(progress.task_ids[0])
                return done

            return list(await asyncio.gather(*(one(problem) for problem in problems)))


def _kept(out: Path | None, problem: Problem) -> dict[str, Any] | None:
    """An audit that was made before, of this very problem and by this version."""
    path = out / f"{problem.id}.json" if out is not None else None
    if path is None or not path.exists():
        return None
    found = read_audit(path)
    return found if is_current(found, problem, AUDIT_VERSION) and not found["errors"] else None


def _as_json(findings: Findings) -> dict[str, Any]:
    trust = trust_of(findings)
    return {**findings.to_json(), "trust": trust.grade.value, "reasons": list(trust.reasons)}


def _near_misses(problems: Sequence[Problem]) -> dict[str, list[NearMiss]]:
    bundled: dict[str, list[NearMiss]] = {}
    for miss in load_near_misses():
        bundled.setdefault(miss.problem_id, []).append(miss)
    return {problem.id: read_near_misses(problem) or bundled.get(problem.id, []) for problem in problems}


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

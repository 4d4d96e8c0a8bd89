"""`rtl-agent problems list | show | stats | validate | generate | mutate`."""

import asyncio
import json
from collections import Counter
from typing import Annotated, Any

import typer
from rich.markdown import Markdown
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from rtl_agent.cli import console
from rtl_agent.cli.console import (
    AsJson,
    Categories,
    Difficulties,
    Families,
    Ids,
    Jobs,
    Kinds,
    Needed,
    Side,
    SkipBad,
    Source,
    Timeout,
)
from rtl_agent.grading import Grade, Grader, Outcome, Validation, validate_problem
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Problem, Selection, Split, as_record, split_of
from rtl_agent.problems.generate import (
    Instance,
    UnknownFamily,
    as_problem,
    habitual_answer,
    identifier,
    instances,
    mutants,
)

app = typer.Typer(help="Look at problems, and find out which ones to trust.", no_args_is_help=True)


def about(problem: Problem) -> dict[str, Any]:
    """What may be known of a problem without its harness and reference."""
    return {
        "id": problem.id,
        "family": problem.family,
        "category": problem.category,
        "difficulty": problem.difficulty,
        "kind": problem.kind,
        "needs": problem.needs,
        "targets": list(problem.targets),
        "context": sorted(problem.context),
        "services": [service.name for service in problem.harness.services],
        "cocotb": problem.harness.cocotb_version if problem.harness.files else None,
        "reference": problem.reference is not None,
        "split": split_of(problem.family),
        "source": problem.source,
    }


@app.command("list")
def list_problems(
    source: Source = "bundled",
    ids: Ids = None,
    families: Families = None,
    categories: Categories = None,
    difficulties: Difficulties = None,
    kinds: Kinds = None,
    needs: Needed = None,
    split: Side = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """One line for each problem."""
    selection = Selection(
        ids or (), families or (), categories or (), difficulties or (), kinds or (), needs or (), split
    )
    problems = console.chosen(source, selection, skip_bad=skip_bad)
    if as_json:
        console.print_json([about(problem) for problem in problems])
        return
    table = Table("id", "category", "difficulty", "kind", "needs", "targets", "cocotb", "reference", "split")
    for problem in problems:
        row = about(problem)
        table.add_row(
            problem.id,
            problem.category,
            problem.difficulty,
            problem.kind,
            problem.needs,
            "\n".join(problem.targets),
            row["cocotb"] or "",
            "yes" if problem.reference else "",
            row["split"],
        )
    console.out.print(table)
    console.out.print(f"{len(problems)} problems")


@app.command()
def show(
    identifier: Annotated[str, typer.Argument(metavar="ID")],
    source: Annotated[str, typer.Option("--problems", help="`bundled`, a JSONL file, or a folder.")] = "bundled",
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """One problem as a model gets it: task and context, not the harness and not the reference."""
    problem = console.chosen(source, Selection(ids=[identifier]), skip_bad=skip_bad)[0]
    if as_json:
        console.print_json({**about(problem), "prompt": problem.prompt, "context": dict(problem.context)})
        return
    facts = (
        f"{problem.category}, {problem.difficulty}, {problem.kind}; judged with {NEEDS_IN_WORDS[problem.needs]}\n"
        f"writes {', '.join(problem.targets) or 'prose'}"
    )
    console.out.print(Panel(facts, title=problem.id))
    console.out.print(Markdown(problem.prompt))
    for path, text in problem.context.items():
        lexer = "markdown" if path.endswith(".md") else "systemverilog"
        console.out.print(Panel(Syntax(text, lexer, line_numbers=True), title=path))


@app.command()
def stats(source: Source = "bundled", skip_bad: SkipBad = False, as_json: AsJson = False) -> None:
    """How many problems there are, by category, difficulty, kind, family and split."""
    problems = console.chosen(source, Selection(), skip_bad=skip_bad)
    rows = [about(problem) for problem in problems]
    counts = {
        field: dict(sorted(Counter(str(row[field]) for row in rows).items()))
        for field in ("category", "difficulty", "kind", "needs", "cocotb", "reference", "split", "family")
    }
    if as_json:
        console.print_json({"problems": len(problems), **counts})
        return
    console.out.print(f"{len(problems)} problems in {len(counts['family'])} families")
    for field in ("category", "difficulty", "kind", "needs", "cocotb", "split"):
        table = Table(field, "problems", title_justify="left")
        for value, count in counts[field].items():
            table.add_row(value, str(count))
        console.out.print(table)


@app.command()
def validate(
    source: Source = "bundled",
    ids: Ids = None,
    families: Families = None,
    categories: Categories = None,
    difficulties: Difficulties = None,
    kinds: Kinds = None,
    split: Side = None,
    skip_bad: SkipBad = False,
    jobs: Jobs = None,
    timeout: Timeout = 120.0,
    as_json: AsJson = False,
) -> None:
    """Grade every problem's reference, an empty file and the files as given; say which problems not to trust."""
    selection = Selection(ids or (), families or (), categories or (), difficulties or (), kinds or (), (), split)
    found = console.chosen(source, selection, skip_bad=skip_bad)
    problems = [problem for problem in found if problem.needs is Needs.OPEN_TOOLS]
    for need in (Needs.COMMERCIAL, Needs.TEXT):
        if count := sum(problem.needs is need for problem in found):
            console.say_warning(f"{count} problems are left out: they need {NEEDS_IN_WORDS[need]}")
    validations = asyncio.run(_validate_all(problems, jobs, timeout))
    if as_json:
        console.print_json([_validation_json(validation) for validation in validations])
    else:
        _print_validations(validations)
    if any(grade.outcome is Outcome.ERROR for validation in validations for grade in validation.grades):
        raise typer.Exit(console.OUR_FAULT)
    if not all(validation.trusted for validation in validations):
        raise typer.Exit(console.SOME_FAILED)


async def _validate_all(problems: list[Problem], jobs: int | None, timeout: float) -> list[Validation]:
    async with Grader(jobs=jobs, timeout_seconds=timeout) as grader:
        with console.progress_bar("validating", len(problems)) as progress:

            async def one(problem: Problem) -> Validation:
                validation = await validate_problem(grader, problem)
                progress.advance(progress.task_ids[0])
                return validation

            return list(await asyncio.gather(*(one(problem) for problem in problems)))


def _validation_json(validation: Validation) -> dict[str, Any]:
    def outcome(grade: Grade | None) -> dict[str, Any] | None:
        return None if grade is None else {"outcome": grade.outcome, "reasons": list(grade.reasons)}

    return {
        "id": validation.problem_id,
        "trusted": validation.trusted,
        "doubts": list(validation.doubts),
        "reference": outcome(validation.reference),
        "empty": outcome(validation.empty),
        "given": outcome(validation.given),
    }


def _print_validations(validations: list[Validation]) -> None:
    table = Table("problem", "reference", "empty", "as given", "trust")
    for validation in validations:
        cells = [
            "-" if grade is None else grade.outcome.value
            for grade in (validation.reference, validation.empty, validation.given)
        ]
        trust = "[green]yes[/]" if validation.trusted else "[red]no:[/] " + "; ".join(validation.doubts)
        table.add_row(validation.problem_id, *cells, trust)
    console.out.print(table)
    good = sum(validation.trusted for validation in validations)
    console.out.print(f"{good} of {len(validations)} problems can be trusted")


Seed = Annotated[int, typer.Option(help="The same seed gives the same problems.")]
Count = Annotated[int, typer.Option(min=1, help="How many.")]
GeneratedSide = Annotated[Split, typer.Option("--split", help="Train, or held-out: parameters and names that are not.")]


@app.command()
def generate(seed: Seed = 0, count: Count = 10, families: Families = None, split: GeneratedSide = Split.TRAIN) -> None:
    """Write problems of the generated families to stdout: JSONL in CVDP's form, with harness and reference."""
    for instance in _generated(seed, count, families, split):
        typer.echo(json.dumps(as_record(as_problem(instance))))


@app.command()
def mutate(seed: Seed = 0, count: Count = 10, families: Families = None, split: GeneratedSide = Split.TRAIN) -> None:
    """Write near misses of the same problems' references to stdout, and the habitual answer: `grade --response`."""
    for instance in _generated(seed, count, families, split):
        designs = {"habitual": habitual_answer(instance)}
        designs |= {mutant.name: mutant.design for mutant in mutants(instance) if not mutant.may_be_equivalent}
        for name, design in designs.items():
            typer.echo(json.dumps({"id": identifier(instance), "name": name, "files": {instance.target: design}}))


def _generated(seed: int, count: int, families: list[str] | None, split: Split) -> list[Instance]:
    try:
        return instances(seed, count, families=families or (), split=split)
    except UnknownFamily as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error

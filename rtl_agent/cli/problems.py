"""`rtl-agent problems`: list, show, count, try, audit and write problems; how hard they are, and which occur twice."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax

from rtl_agent.audit.material import near_misses_of_all, repair
from rtl_agent.cli import console
from rtl_agent.cli.audit import audit, overlap
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
from rtl_agent.cli.difficulty import difficulty
from rtl_agent.cli.tables import Column, Table, print_plain
from rtl_agent.cli.unpack import unpack
from rtl_agent.grading import Grade, Grader, Outcome, Trust, Validation, validate_problem
from rtl_agent.problems import (
    NEEDS_IN_WORDS,
    NearMiss,
    Needs,
    Problem,
    Selection,
    Split,
    as_record,
    read_near_misses,
    split_of,
)
from rtl_agent.problems.directories import new_directory
from rtl_agent.problems.generate import (
    Instance,
    UnknownFamily,
    as_problem,
    habitual_answer,
    identifier,
    instances,
    mutants,
)
from rtl_agent.problems.problem import BadField
from rtl_agent.problems.sources import GENERATED

app = typer.Typer(help="Look at problems, and find out which ones to trust.", no_args_is_help=True)
app.command(short_help="Try the tests of problems: how far to trust them?")(audit)
app.command(short_help="How often each problem was solved, and by whom.")(difficulty)
app.command(short_help="Find problems of one set in another.")(overlap)


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
    table = Table(
        Column("id", whole=True),
        Column("category", drop=2),
        Column("difficulty", drop=3),
        Column("kind", drop=4),
        Column("needs", drop=7),
        Column("targets", drop=1),
        Column("cocotb", drop=6),
        Column("reference", drop=8),
        Column("split", drop=5),
    )
    for problem in problems:
        row = about(problem)
        table.add(
            escape(problem.id),
            escape(problem.category),
            escape(problem.difficulty),
            problem.kind,
            problem.needs,
            escape("\n".join(problem.targets)),
            row["cocotb"] or "",
            "yes" if problem.reference else "",
            row["split"],
        )
    table.print()
    print_plain(_counted(problems))


def _counted(found: list[Any]) -> str:
    return "1 problem" if len(found) == 1 else f"{len(found)} problems"


@app.command(short_help="Show a problem as a model gets it.")
def show(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The problem.")],
    source: Source = "bundled",
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
    if not console.out.is_terminal:
        for text in (f"{problem.id}: {facts}", problem.prompt, *_as_listings(problem.context)):
            print_plain(console.harmless(text) + "\n")
        return
    console.out.print(Panel(facts, title=problem.id))
    console.out.print(Markdown(problem.prompt))
    for path, text in problem.context.items():
        lexer = "markdown" if path.endswith(".md") else "systemverilog"
        console.out.print(Panel(Syntax(text, lexer, line_numbers=True), title=path))


def _as_listings(context: Mapping[str, str]) -> Iterator[str]:
    for path, text in context.items():
        yield f"--- {path} ---\n{text.rstrip()}"


app.command(short_help="Write a problem as a workspace, to solve it yourself.")(unpack)


@app.command(short_help="Count problems by category, difficulty, family, split.")
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
    families = len(counts["family"])
    console.out.print(f"{_counted(problems)} in {families} {'family' if families == 1 else 'families'}")
    for field in ("category", "difficulty", "kind", "needs", "cocotb", "split", "family"):
        table = Table(Column(field, whole=True), Column("problems", right=True))
        for value, count in counts[field].items():
            table.add(escape(value), str(count))
        table.print()


@app.command(short_help="Grade references and wrong answers: which to trust?")
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
    """Grade every problem's reference, an empty file, the files as given and near misses; say which ones to trust.

    Exit code 0: no doubts; 1: some; 2: bad usage or input; 3: an internal error. Without a reference: untested.
    """
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
    if any(validation.doubts for validation in validations):
        raise typer.Exit(console.SOME_FAILED)


async def _validate_all(problems: list[Problem], jobs: int | None, timeout: float) -> list[Validation]:
    misses: dict[str, list[NearMiss]] = {problem.id: read_near_misses(problem) for problem in problems}
    async with Grader(jobs=jobs, timeout_seconds=timeout) as grader:
        with console.progress_bar("validating", len(problems)) as progress:

            async def one(problem: Problem) -> Validation:
                validation = await validate_problem(grader, problem, misses[problem.id])
                progress.advance(progress.task_ids[0])
                return validation

            return list(await asyncio.gather(*(one(problem) for problem in problems)))


def _validation_json(validation: Validation) -> dict[str, Any]:
    def outcome(grade: Grade | None) -> dict[str, Any] | None:
        return None if grade is None else {"outcome": grade.outcome, "reasons": list(grade.reasons)}

    return {
        "id": validation.problem_id,
        "trust": validation.trust,
        "trusted": validation.trusted,
        "doubts": list(validation.doubts),
        "reference": outcome(validation.reference),
        "empty": outcome(validation.empty),
        "given": outcome(validation.given),
        "near_misses": {name: outcome(grade) for name, grade in validation.near_misses.items()},
    }


def _print_validations(validations: list[Validation]) -> None:
    table = Table(
        Column("problem", whole=True),
        Column("reference", drop=2),
        Column("empty", drop=3),
        Column("as given", drop=4),
        Column("near misses", drop=1),
        "trust",
    )
    colours = {Trust.TRUSTED: "green", Trust.UNTESTED: "yellow", Trust.DOUBTFUL: "red"}
    for validation in validations:
        cells = [
            "-" if grade is None else grade.outcome.value
            for grade in (validation.reference, validation.empty, validation.given)
        ]
        wrong = validation.near_misses
        rejected = sum(grade.outcome is not Outcome.PASSED for grade in wrong.values())
        said = f"[{colours[validation.trust]}]{validation.trust}[/]"
        if validation.doubts:
            said += ": " + escape(console.harmless("; ".join(validation.doubts)))
        elif validation.trust is Trust.UNTESTED:
            said += ": it has no reference"
        near = f"{rejected} of {len(wrong)} fail" if wrong else "-"
        table.add(escape(validation.problem_id), *cells, near, said)
    table.print()
    counts = [(trust, sum(validation.trust is trust for validation in validations)) for trust in Trust]
    print_plain(f"{_counted(validations)}: " + ", ".join(f"{count} {trust}" for trust, count in counts if count))


@app.command(short_help="Write a small problem to turn into your own.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The id: <set>_<topic>_<number>, or just a topic.")],
    directory: Annotated[Path, typer.Option("--in", help="Where to write it.")] = Path(),
) -> None:
    """Write a directory with a small problem that works, for you to turn into your own.

    Specification, reference, harness and near misses: docs/own-problems.md says what to change.
    """
    try:
        made = new_directory(name, directory)
    except BadField as bad:
        raise typer.BadParameter(bad.reason, param_hint="NAME") from bad
    except FileExistsError as error:
        raise typer.BadParameter(f"{error.filename} already exists; choose another name", param_hint="NAME") from error
    except OSError as error:
        raise typer.BadParameter(f"{error.filename}: {error.strerror}", param_hint="NAME") from error
    print_plain(f"{made}: a counter from 0 to 9, for you to turn into your own problem:")
    table = Table(Column("file", whole=True), "what it is")
    for path, what in _PARTS.items():
        table.add(path, what)
    table.print()
    print_plain(f"Try it: rtl-agent problems validate {made}")


_PARTS = {
    "prompt.md": "the specification, as the model gets it",
    "problem.yaml": "kind, category, difficulty, and which files an answer may write",
    "reference/": "a right answer, which must pass",
    "harness/src/": "the tests, which a model never sees",
    "near_misses/": "wrong answers, which must fail",
}


Seed = Annotated[int, typer.Option(help="The same seed gives the same problems.")]
Count = Annotated[int, typer.Option(min=1, help="How many.")]
GeneratedSide = Annotated[
    Split, typer.Option("--split", help="train, or held-out: parameters and names that never occur in train.")
]


@app.command(short_help="Write generated problems to stdout, as JSONL.")
def generate(seed: Seed = 0, count: Count = 10, families: Families = None, split: GeneratedSide = Split.TRAIN) -> None:
    """Write problems of the generated families to stdout: JSONL in CVDP's form, with harness and reference."""
    for instance in _generated(seed, count, families, split):
        typer.echo(json.dumps(as_record(as_problem(instance))))


@app.command(short_help="Write near misses, or problems that ask to mend them, as JSONL.")
def mutate(
    source: Source = GENERATED,
    seed: Seed = 0,
    count: Count = 10,
    families: Families = None,
    split: GeneratedSide = Split.TRAIN,
    ids: Ids = None,
    repairs: Annotated[bool, typer.Option("--repairs", help="Problems that ask to mend them, in CVDP's form.")] = False,
) -> None:
    """Write near misses to stdout: answers for `grade --response` that compile and that the problem's tests reject.

    Of `generated`, COUNT problems are drawn, and their habitual answers are among them. Of any other PROBLEMS, COUNT
    mutants of each reference. With --repairs a JSONL file of problems: `train` takes it, as it takes repairs:PROBLEMS.
    """
    if source == GENERATED and not repairs:
        for instance in _generated(seed, count, families, split):
            designs = {"habitual": habitual_answer(instance)}
            designs |= {mutant.name: mutant.design for mutant in mutants(instance) if not mutant.may_be_equivalent}
            for name, design in designs.items():
                typer.echo(json.dumps({"id": identifier(instance), "name": name, "files": {instance.target: design}}))
        return
    if source == GENERATED:  # by seed and side, as without --repairs: by its name it is the problems of evaluations
        problems = [as_problem(instance) for instance in _generated(seed, count, families, split)]
    else:
        problems = console.chosen(source, Selection(ids=ids or (), families=families or ()), skip_bad=False)
    known = [problem for problem in problems if problem.reference is not None and problem.needs is Needs.OPEN_TOOLS]
    if len(known) < len(problems):
        console.say_warning(f"{len(problems) - len(known)} problems are left out: no right design of them is known")
    for problem, found in zip(known, asyncio.run(near_misses_of_all(known, count, str(seed))), strict=True):
        for one in found:
            if repairs:
                typer.echo(json.dumps(as_record(repair(problem, one))))
                continue
            about_it = {"id": problem.id, "name": one.miss.name, "wrong": one.miss.wrong, "failed": one.failed}
            typer.echo(json.dumps({**about_it, "files": dict(one.miss.files)}))


def _generated(seed: int, count: int, families: list[str] | None, split: Split) -> list[Instance]:
    try:
        return instances(seed, count, families=families or (), split=split)
    except UnknownFamily as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error

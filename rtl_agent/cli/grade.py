"""`rtl-agent grade` judges answers; `rtl-agent demo grade` shows the grader at work on right and wrong designs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.answers import GradingJob, from_directory, from_references, from_response
from rtl_agent.cli.comprehension import grade_text
from rtl_agent.cli.console import (
    AsJson,
    Categories,
    Difficulties,
    ExecutorName,
    Families,
    Ids,
    Jobs,
    Kinds,
    OssSimImage,
    SandboxName,
    Side,
    SkipBad,
    Source,
    Timeout,
)
from rtl_agent.cli.grade_view import coloured, escape, first_reason, print_grade, print_output, print_summary
from rtl_agent.cli.junit import write_junit
from rtl_agent.cli.keep import keep as keep_all
from rtl_agent.cli.new_workspace import ensure_new
from rtl_agent.cli.options_by_hand import Only, Verbose, judged_part, patterns
from rtl_agent.cli.tables import Column, Table
from rtl_agent.cli.waves import Waves, ensure_no_waves, write_waves
from rtl_agent.grading import (
    DEFAULT_EXTRACTION,
    Grade,
    GradeCache,
    Grader,
    Outcome,
    SimulationMode,
    default_cache_path,
    parse_weights,
    submit,
)
from rtl_agent.grading.executors import LOCAL
from rtl_agent.problems import Needs, Selection, load_near_misses, load_problems
from rtl_agent.sandbox import sandbox_warning, weakness_warning
from rtl_agent.toolchain import fallback_warning

_WRONG_EACH = 1
_SHOWN_WHOLE = "rtl_fixed_priority_arbiter_0001"  # every wrong design of this one


def grade(
    source: Source,
    ids: Ids = None,
    response: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='A model\'s reply as text (`-`: stdin), or a .jsonl file with {"id", "response"} or {"id", "files"} '
            "in each line.",
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A workspace with the target files; for several problems, a directory for each id."
        ),
    ] = None,
    reference: Annotated[bool, typer.Option("--reference", help="Grade the problems' own references.")] = False,
    reward: Annotated[
        str,
        typer.Option(metavar="REWARD", help="staged, graded, binary, or weights such as format=0.1,tests=1."),
    ] = "staged",
    extraction: console.HowRead = DEFAULT_EXTRACTION,
    families: Families = None,
    categories: Categories = None,
    difficulties: Difficulties = None,
    kinds: Kinds = None,
    split: Side = None,
    skip_bad: SkipBad = False,
    jobs: Jobs = None,
    timeout: Timeout = 120.0,
    path: Annotated[
        SimulationMode,
        typer.Option(help="exact runs the harness as CVDP does, fast in warm simulators; auto: fast where possible."),
    ] = SimulationMode.AUTO,
    cache: Annotated[bool, typer.Option(help="Cache grades, so that the same text is not graded twice.")] = True,
    executor: ExecutorName = LOCAL,
    sandbox: SandboxName = "",
    oss_sim_image: OssSimImage = "",
    only: Only = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Write each answer, as it was judged, and the tests into DIR (new or empty), with a run.sh that runs "
            "what failed again: in the sandbox, with the seed of the grade.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML, for a CI server.")
    ] = None,
    verbose: Verbose = False,
    waves: Waves = None,
    as_json: AsJson = False,
) -> None:
    """Grade answers: one in full, many in a table.

    Messages of failed tests are shown as the tests have them. They are for you: a model that is trained or scored on
    these problems must not read them.

    Exit code 0: all passed (with -k: all tests that were chosen); 1: some failed; 2: bad usage or input; 3: an internal
    error.
    """
    if sum((response is not None, files is not None, reference)) != 1:
        raise typer.BadParameter("give one of --response FILE, --files DIR and --reference")
    try:
        weights = parse_weights(reward)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--reward") from error
    if keep is not None:
        ensure_new(keep)
    asked = patterns(only)
    if asked and waves is not None:
        raise typer.BadParameter("waves are written for all tests of a service: leave -k out", param_hint="--waves")
    ensure_no_waves(waves)
    selection = Selection(ids or (), families or (), categories or (), difficulties or (), kinds or (), (), split)
    problems = console.chosen(source, selection, skip_bad=skip_bad)
    if all(problem.needs is Needs.TEXT for problem in problems):
        grade_text(problems, response, reference=reference, as_json=as_json)
    if response is not None:
        todo = from_response(problems, response, extraction, skip_bad=skip_bad)
    elif files is not None:
        todo = from_directory(problems, files)
    else:
        todo = from_references(problems)
    if warned := sandbox_warning() if executor == LOCAL else "":
        console.say_warning(warned)
    with GradeCache(default_cache_path() if cache else None) as kept:
        grader = Grader(weights=weights, jobs=jobs, timeout_seconds=timeout, path=path, cache=kept, executor=executor)
        grades = asyncio.run(grade_all(todo, grader, only=asked, output=verbose))
    todo, grades = judged_part(todo, grades)
    write_waves(waves, todo, grades, timeout, jobs)
    weaker = () if warned else (weakness_warning(graded.tools) for graded in grades)
    for warning in dict.fromkeys([*(fallback_warning(graded.tools) for graded in grades), *weaker]):
        if warning:
            console.say_warning(warning)
    if as_json:
        console.print_json([{**graded.to_json(), "label": job.label} for job, graded in zip(todo, grades, strict=True)])
    elif len(grades) == 1:
        print_grade(grades[0], todo[0].submission.workspace(todo[0].problem))
    else:
        print_summary([(job.label, graded) for job, graded in zip(todo, grades, strict=True)])
    if keep is not None:
        console.err.print(escape(keep_all(keep, todo, grades, timeout)), highlight=False, soft_wrap=True)
    if junit is not None:
        write_junit(junit, [(job.label, graded) for job, graded in zip(todo, grades, strict=True)])
    if verbose and not as_json:
        for job, graded in zip(todo, grades, strict=True):
            print_output(graded, "" if len(grades) == 1 else job.label)
    if any(graded.only for graded in grades):
        console.say_warning("only some tests were judged (-k): this is no full grade, and exit code 0 no pass")
    raise typer.Exit(exit_code(grades))


def exit_code(grades: Sequence[Grade]) -> int:
    if any(graded.outcome is Outcome.ERROR for graded in grades):
        return console.OUR_FAULT
    if any(graded.outcome is not Outcome.PASSED for graded in grades):
        return console.SOME_FAILED
    return console.ALL_PASSED


async def grade_all(
    todo: Sequence[GradingJob], grader: Grader, *, only: tuple[str, ...] = (), output: bool = False
) -> list[Grade]:
    """Every job's grade, in order, with a bar that counts passes."""
    async with grader:
        with console.progress_bar("grading", len(todo)) as progress:
            passed = 0

            async def one(job: GradingJob) -> Grade:
                nonlocal passed
                graded = await grader.grade(job.problem, job.submission, only=only, output=output)
                passed += graded.outcome is Outcome.PASSED
                progress.update(progress.task_ids[0], advance=1, note=f"{passed} passed")
                return graded

            return list(await asyncio.gather(*(one(job) for job in todo)))


def demo_grade(jobs: Jobs = None) -> None:
    """Grade every bundled problem's reference and some wrong designs, and print what the grader says of each."""
    problems = {problem.id: problem for problem in load_problems("bundled")}
    todo = [GradingJob(problem, submit(problem, problem.reference or {}), "reference") for problem in problems.values()]
    taken: dict[str, int] = {}
    for miss in load_near_misses():
        taken[miss.problem_id] = taken.get(miss.problem_id, 0) + 1
        if miss.problem_id == _SHOWN_WHOLE or taken[miss.problem_id] <= _WRONG_EACH:
            problem = problems[miss.problem_id]
            todo.append(GradingJob(problem, submit(problem, miss.files), miss.wrong))
    todo.sort(key=lambda job: job.problem.id)
    grades = asyncio.run(grade_all(todo, Grader(jobs=jobs)))
    surprises = _print_demo(todo, grades)
    console.out.print("Grade a design of your own: rtl-agent grade bundled --id ID --files DIR, or --response FILE")
    if any(graded.outcome is Outcome.ERROR for graded in grades):
        raise typer.Exit(console.OUR_FAULT)
    if surprises:
        raise typer.Exit(console.SOME_FAILED)


def _print_demo(todo: list[GradingJob], grades: list[Grade]) -> int:
    """The table; returns how many designs were not graded as they should be."""
    table = Table(
        Column("problem", whole=True),
        "design",
        "outcome",
        Column("reward", right=True, drop=1),
        "what the grader found",
    )
    surprises = 0
    for job, graded in zip(todo, grades, strict=True):
        right = job.label == "reference"
        expected = (graded.outcome is Outcome.PASSED) == right
        surprises += not expected
        table.add(
            job.problem.id,
            escape(job.label),
            coloured(graded.outcome),
            f"{graded.reward.total:g}",
            escape(first_reason(graded)) + ("" if expected else " [bold red](unexpected)[/]"),
        )
    table.print()
    references = sum(job.label == "reference" for job in todo)
    console.out.print(
        f"{references} references and {len(todo) - references} wrong designs: "
        + ("each graded as it should be" if not surprises else f"{surprises} not graded as expected")
    )
    return surprises

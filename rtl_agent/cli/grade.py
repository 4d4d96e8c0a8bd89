"""`rtl-agent grade`: judge one answer or many."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

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
    Timeout,
)
from rtl_agent.cli.grade_view import print_grade, print_summary
from rtl_agent.grading import (
    DEFAULT_EXTRACTION,
    CannotGrade,
    Extraction,
    Grade,
    GradeCache,
    Grader,
    Outcome,
    Submission,
    default_cache_path,
    extract,
    parse_weights,
    submit,
    submit_directory,
)
from rtl_agent.grading import Path as RunPath
from rtl_agent.grading.executors import EXECUTORS
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Problem, Selection
from rtl_agent.registry import did_you_mean
from rtl_agent.toolchain import fallback_warning


@dataclass(frozen=True)
class Job:
    """A submission to a problem, and the word it is known by in the table."""

    problem: Problem
    submission: Submission
    label: str


def grade(
    source: Source,
    ids: Ids = None,
    response: Annotated[
        Path | None,
        typer.Option(help="A model's reply as text (`-` for stdin), or a .jsonl of {id, response} or {id, files}."),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(help="A workspace that holds the target files; with several problems, one folder each."),
    ] = None,
    reference: Annotated[bool, typer.Option("--reference", help="The problem's own reference.")] = False,
    reward: Annotated[
        str, typer.Option(help="staged, graded, binary, or weights such as format=0.1,tests=1.")
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
        RunPath, typer.Option(help="exact: as CVDP runs it; fast: warm; auto: fast where it can.")
    ] = RunPath.AUTO,
    cache: Annotated[bool, typer.Option(help="Keep grades, and do not judge the same text twice.")] = True,
    executor: Annotated[str, typer.Option(help=f"Where to judge: {', '.join(EXECUTORS)}.")] = "local",
    as_json: AsJson = False,
) -> None:
    """Judge answers. Exit code 0: all passed; 1: some failed; 2: bad usage or input; 3: our own fault."""
    if sum((response is not None, files is not None, reference)) != 1:
        raise typer.BadParameter("give one of --response FILE, --files DIR and --reference")
    try:
        weights = parse_weights(reward)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--reward") from error
    if executor not in EXECUTORS:
        near = did_you_mean(executor, EXECUTORS)
        raise typer.BadParameter(f"{executor!r} is not one of {', '.join(EXECUTORS)}{near}", param_hint="--executor")
    selection = Selection(ids or (), families or (), categories or (), difficulties or (), kinds or (), (), split)
    problems = console.chosen(source, selection, skip_bad=skip_bad)
    if response is not None:
        todo = _from_response(problems, response, extraction)
    elif files is not None:
        todo = _from_directory(problems, files)
    else:
        todo = _from_references(problems)
    with GradeCache(default_cache_path() if cache else None) as kept:
        grader = Grader(weights=weights, jobs=jobs, timeout_seconds=timeout, path=path, cache=kept, executor=executor)
        grades = asyncio.run(grade_all(todo, grader))
    for warning in dict.fromkeys(fallback_warning(graded.tools) for graded in grades):
        if warning:
            console.say_warning(warning)
    if as_json:
        console.print_json([{**graded.to_json(), "label": job.label} for job, graded in zip(todo, grades, strict=True)])
    elif len(grades) == 1:
        print_grade(grades[0])
    else:
        print_summary([(job.label, graded) for job, graded in zip(todo, grades, strict=True)])
    raise typer.Exit(exit_code(grades))


def exit_code(grades: Sequence[Grade]) -> int:
    if any(graded.outcome is Outcome.ERROR for graded in grades):
        return console.OUR_FAULT
    if any(graded.outcome is not Outcome.PASSED for graded in grades):
        return console.SOME_FAILED
    return console.ALL_PASSED


async def grade_all(todo: Sequence[Job], grader: Grader) -> list[Grade]:
    """Every job's grade, in order, with a bar that counts passes."""
    async with grader:
        with console.progress_bar("grading", len(todo)) as progress:
            passed = 0

            async def one(job: Job) -> Grade:
                nonlocal passed
                graded = await grader.grade(job.problem, job.submission)
                passed += graded.outcome is Outcome.PASSED
                progress.update(progress.task_ids[0], advance=1, note=f"{passed} passed")
                return graded

            return list(await asyncio.gather(*(one(job) for job in todo)))


def _from_references(problems: Sequence[Problem]) -> list[Job]:
    known = [problem for problem in problems if problem.reference is not None and problem.needs is Needs.OPEN_TOOLS]
    if len(problems) == 1 and not known and problems[0].needs is not Needs.OPEN_TOOLS:
        raise CannotGrade(f"{problems[0].id} needs {NEEDS_IN_WORDS[problems[0].needs]}")
    if not known:
        raise typer.BadParameter(
            "none of these problems has a reference that open tools can grade", param_hint="--reference"
        )
    if len(known) < len(problems):
        console.say_warning(f"{len(problems) - len(known)} problems are left out: no reference, or other tools needed")
    return [Job(problem, submit(problem, problem.reference or {}), problem.id) for problem in known]


def _from_directory(problems: Sequence[Problem], directory: Path) -> list[Job]:
    if not directory.is_dir():
        raise typer.BadParameter(f"{directory} is not a folder", param_hint="--files")
    if len(problems) == 1:
        return [Job(problems[0], submit_directory(problems[0], directory), problems[0].id)]
    found = [problem for problem in problems if (directory / problem.id).is_dir()]
    if not found:
        raise typer.BadParameter(
            f"choose one problem with --id, or give {directory} a folder named after each problem", param_hint="--files"
        )
    return [Job(problem, submit_directory(problem, directory / problem.id), problem.id) for problem in found]


def _from_response(problems: Sequence[Problem], file: Path, extraction: Extraction) -> list[Job]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(errors="replace")
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="--response") from error
    if file.suffix == ".jsonl":
        return _from_lines(problems, text, file, extraction)
    if len(problems) != 1:
        raise typer.BadParameter(
            f"{len(problems)} problems are chosen: name one with --id, or give a .jsonl of {{id, response}}",
            param_hint="--response",
        )
    return [Job(problems[0], extract(problems[0], text, extraction), problems[0].id)]


def _from_lines(problems: Sequence[Problem], text: str, file: Path, extraction: Extraction) -> list[Job]:
    by_id = {problem.id: problem for problem in problems}
    todo: list[Job] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            problem = by_id[entry["id"]]
            if "files" in entry:
                offered = {str(path): str(content) for path, content in entry["files"].items()}
                submission = submit(problem, offered)
            else:
                submission = extract(problem, str(entry["response"]), extraction)
        except (ValueError, TypeError, AttributeError) as error:
            raise typer.BadParameter(f"{file}:{number}: {error}", param_hint="--response") from error
        except KeyError as error:
            raise typer.BadParameter(
                f"{file}:{number}: {error} is missing, or no chosen problem has that id", param_hint="--response"
            ) from error
        todo.append(Job(problem, submission, f"{problem.id}:{number}"))
    if not todo:
        raise typer.BadParameter(f"{file} has no answers", param_hint="--response")
    return todo

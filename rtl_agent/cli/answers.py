"""What is to be graded: a reply, a file of answers, a workspace, or the problems' own references."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from rtl_agent.cli import console
from rtl_agent.grading import CannotGrade, Extraction, Submission, extract, submit, submit_directory
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Problem
from rtl_agent.registry import did_you_mean

_FORMS = '{"id": ..., "response": "text"} or {"id": ..., "files": {"path": "text"}}'


@dataclass(frozen=True)
class GradingJob:
    """A submission to a problem, and the name that it has in tables."""

    problem: Problem
    submission: Submission
    label: str


class BadAnswers(ValueError):
    """An answers file that cannot be graded. The message names the line and the field."""


class BadAnswer(ValueError):
    """One line of an answers file that cannot be used. The message names the field."""


def from_references(problems: Sequence[Problem]) -> list[GradingJob]:
    known = [problem for problem in problems if problem.reference is not None and problem.needs is Needs.OPEN_TOOLS]
    if len(problems) == 1 and not known and problems[0].needs is not Needs.OPEN_TOOLS:
        raise CannotGrade(f"{problems[0].id} needs {NEEDS_IN_WORDS[problems[0].needs]}")
    if not known:
        raise typer.BadParameter(
            "none of these problems has a reference that open tools can grade", param_hint="--reference"
        )
    if left_out := len(problems) - len(known):
        are = "problem is" if left_out == 1 else "problems are"
        console.say_warning(f"{left_out} {are} left out: no reference, or not gradable with open tools")
    return [GradingJob(problem, submit(problem, problem.reference or {}), problem.id) for problem in known]


def from_directory(problems: Sequence[Problem], directory: Path) -> list[GradingJob]:
    if not directory.is_dir():
        raise typer.BadParameter(f"{directory} is not a directory", param_hint="--files")
    if len(problems) == 1:
        return [GradingJob(problems[0], submit_directory(problems[0], directory), problems[0].id)]
    found = [problem for problem in problems if (directory / problem.id).is_dir()]
    if not found:
        raise typer.BadParameter(
            f"{len(problems)} problems are selected: choose one with --id, or put the files of each into "
            f"{directory}/ID, where ID is the problem's id",
            param_hint="--files",
        )
    return [GradingJob(problem, submit_directory(problem, directory / problem.id), problem.id) for problem in found]


def from_response(
    problems: Sequence[Problem], file: Path, extraction: Extraction, *, skip_bad: bool
) -> list[GradingJob]:
    """One reply as text, or many in a `.jsonl`."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(errors="replace")
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="--response") from error
    if file.suffix == ".jsonl":
        return list(_from_lines(problems, text, file, extraction, skip_bad=skip_bad))
    if len(problems) != 1:
        raise typer.BadParameter(
            f"{len(problems)} problems are selected: choose one with --id, or give a .jsonl file with lines {_FORMS}",
            param_hint="--response",
        )
    return [GradingJob(problems[0], extract(problems[0], text, extraction), problems[0].id)]


def _from_lines(
    problems: Sequence[Problem], text: str, file: Path, extraction: Extraction, *, skip_bad: bool
) -> Iterator[GradingJob]:
    by_id = {problem.id: problem for problem in problems}
    found = False
    # Not splitlines(): a JSON string may hold U+2028, which that takes for the end of a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            problem, submission = _read_answer(line, by_id, extraction)
        except BadAnswer as error:
            if not skip_bad:
                raise BadAnswers(f"{file}:{number}: {error}\n--skip-bad leaves such lines out.") from error
            console.say_warning(f"left out {file}:{number}: {error}")
            continue
        found = True
        yield GradingJob(problem, submission, f"{problem.id}:{number}")
    if not found:
        raise BadAnswers(f"{file} has no answer that can be graded")


def _read_answer(line: str, by_id: Mapping[str, Problem], extraction: Extraction) -> tuple[Problem, Submission]:
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the line is not valid JSON: {error}") from error
    if not isinstance(entry, dict):
        raise BadAnswer(f"the line is not a JSON object; give {_FORMS}")
    problem = _problem(entry, by_id)
    if "files" in entry:
        return problem, submit(problem, _files(entry["files"]))
    if "response" not in entry:
        raise BadAnswer(f"response: is missing; give {_FORMS}")
    if not isinstance(entry["response"], str):
        raise BadAnswer("response: is not a string")
    return problem, extract(problem, entry["response"], extraction)


def _problem(entry: Mapping[str, Any], by_id: Mapping[str, Problem]) -> Problem:
    if "id" not in entry:
        raise BadAnswer(f"id: is missing; give {_FORMS}")
    name = entry["id"]
    if not isinstance(name, str):
        raise BadAnswer("id: is not a string")
    if name not in by_id:
        raise BadAnswer(f"id: none of the selected problems is called {name!r}{did_you_mean(name, by_id)}")
    return by_id[name]


def _files(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadAnswer('files: is not an object of {"path": "text"}')
    for path, text in value.items():
        if not isinstance(text, str):
            raise BadAnswer(f"files.{path}: is not a string")
    return value

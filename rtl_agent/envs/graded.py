"""A grade inside an episode: ours to have or to fail by, and its form in the record."""

import json
from typing import Any

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.grading import CannotGrade, Diagnostic, Grade, Grader, Outcome, Submission
from rtl_agent.problems import Problem

DIAGNOSTICS_KEPT = 40  # a design without a semicolon can make a tool complain about every line


async def grade_or_fail(grader: Grader, problem: Problem, submission: Submission | str) -> Grade:
    """What was said, or files. What is no fault of the model fails the episode: it is never a reward of 0."""
    try:
        if isinstance(submission, str):
            grade = await grader.grade_reply(problem, submission)
        else:
            grade = await grader.grade(problem, submission)
    except CannotGrade as error:
        raise EpisodeFailed(str(error)) from error
    if grade.outcome is Outcome.ERROR:  # the executor has tried again before it says so
        raise EpisodeFailed(f"{problem.id} could not be graded: {'; '.join(grade.reasons)}")
    return grade


def json_of(grade: Grade) -> dict[str, Any]:
    """As it will be read back."""
    found: dict[str, Any] = json.loads(json.dumps(grade.to_json()))
    return found


def diagnostics_of(grade: Grade) -> tuple[str, ...]:
    return (*grade.reasons, *map(_line, grade.diagnostics[:DIAGNOSTICS_KEPT]))


def _line(found: Diagnostic) -> str:
    return f"{found.file}:{found.line}: {found.severity}: {found.text} ({found.tool})"

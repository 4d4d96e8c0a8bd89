"""`rtl-agent demo grade`: the grader at work on the bundled problems, right designs and wrong ones side by side."""

import asyncio

import typer
from rich.markup import escape
from rich.table import Table

from rtl_agent.cli import console
from rtl_agent.cli.console import Jobs
from rtl_agent.cli.grade import Job, grade_all
from rtl_agent.cli.grade_view import coloured
from rtl_agent.grading import Grade, Grader, Outcome, submit
from rtl_agent.problems import load_near_misses, load_problems

_WRONG_EACH = 1
_SHOWN_WHOLE = "rtl_fixed_priority_arbiter_0001"  # every wrong design of this one


def demo_grade(jobs: Jobs = None) -> None:
    """Grade every bundled problem's reference and some wrong designs, and print what the grader says of each."""
    problems = {problem.id: problem for problem in load_problems("bundled")}
    todo = [Job(problem, submit(problem, problem.reference or {}), "reference") for problem in problems.values()]
    taken: dict[str, int] = {}
    for miss in load_near_misses():
        taken[miss.problem_id] = taken.get(miss.problem_id, 0) + 1
        if miss.problem_id == _SHOWN_WHOLE or taken[miss.problem_id] <= _WRONG_EACH:
            problem = problems[miss.problem_id]
            todo.append(Job(problem, submit(problem, miss.files), miss.wrong))
    todo.sort(key=lambda job: job.problem.id)
    grades = asyncio.run(grade_all(todo, Grader(jobs=jobs)))
    surprises = _print(todo, grades)
    console.out.print("Grade a design of your own: rtl-agent grade bundled --id ID --files DIR, or --response FILE")
    if any(graded.outcome is Outcome.ERROR for graded in grades):
        raise typer.Exit(console.OUR_FAULT)
    if surprises:
        raise typer.Exit(console.SOME_FAILED)


def _print(todo: list[Job], grades: list[Grade]) -> int:
    """The table; returns how many designs were not judged as they should be."""
    table = Table("problem", "design", "outcome", "reward", "what the grader found")
    surprises, shown = 0, ""
    for job, graded in zip(todo, grades, strict=True):
        right = job.label == "reference"
        expected = (graded.outcome is Outcome.PASSED) == right
        surprises += not expected
        found = graded.reasons[0] if graded.reasons else ""
        table.add_row(
            job.problem.id if job.problem.id != shown else "",
            escape(job.label),
            coloured(graded.outcome),
            f"{graded.reward.total:g}",
            escape(found[:140]) + ("" if expected else " [bold red](unexpected)[/]"),
        )
        shown = job.problem.id
    console.out.print(table)
    references = sum(job.label == "reference" for job in todo)
    console.out.print(
        f"{references} references and {len(todo) - references} wrong designs: "
        + ("each judged as it should be" if not surprises else f"{surprises} not judged as expected")
    )
    return surprises

"""The options of those who look into one grade, as `grade` and `rerun` have them, and what -k leaves of many."""

from collections.abc import Sequence
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.answers import GradingJob
from rtl_agent.grading import CannotGrade, Grade, Outcome

Only = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        metavar="TEST",
        help="Judge only tests with TEST in their names; `*` stands for anything, case does not matter. pytest's names "
        "are looked at first, then cocotb's. The grade is partial, and not cached. Can be repeated.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        help="Also show what the compiler, the simulator and pytest print. It quotes the tests: it is for you, not for "
        "a model that is trained or scored on them.",
    ),
]


def patterns(only: Sequence[str] | None) -> tuple[str, ...]:
    """What -k was given; an `=` in front, which means a whole name elsewhere, is an ordinary character here."""
    for pattern in only or ():
        if not pattern.strip("* "):
            raise typer.BadParameter(f"{pattern!r} names no test", param_hint="-k")
    return tuple(f"*{pattern}" if pattern.startswith("=") else pattern for pattern in only or ())


def names_no_test(grade: Grade) -> bool:
    """Whether -k means none of this problem's tests."""
    return bool(grade.only) and not grade.tests and grade.outcome is Outcome.INVALID


def judged_part(jobs: Sequence[GradingJob], grades: Sequence[Grade]) -> tuple[list[GradingJob], list[Grade]]:
    """Without those of which -k means no test; CannotGrade where it means none of any."""
    judged = [(job, grade) for job, grade in zip(jobs, grades, strict=True) if not names_no_test(grade)]
    left_out = {
        job.problem.id: grade.reasons[0] for job, grade in zip(jobs, grades, strict=True) if names_no_test(grade)
    }
    if not judged:
        raise CannotGrade("\n".join(f"{identifier}: {reason}" for identifier, reason in left_out.items()))
    for identifier, reason in left_out.items():
        console.say_warning(f"left out {identifier}: {reason}")
    return [job for job, _ in judged], [grade for _, grade in judged]

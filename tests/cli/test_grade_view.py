"""Grades in a terminal: what a design could make a compiler quote is shown, and never obeyed."""

import pytest

from rtl_agent.cli import console
from rtl_agent.cli.grade_view import print_grade
from rtl_agent.grading import Diagnostic, Grade, Outcome, Stage, StageName, TestResult

HOSTILE = "\x1b[2J\x1b]0;owned\x07[/nonsense] \u202e"


def test_a_quoted_design_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.out, "width", 200)
    grade = Grade(
        f"p{HOSTILE}",
        Outcome.INVALID,
        (Stage(StageName.SYNTAX, False, notes=(HOSTILE,)),),
        (TestResult("case", False, HOSTILE),),
        (Diagnostic("icarus", "error", "rtl/a.sv", 3, f"Unknown module type: {HOSTILE}"),),
        reasons=(f"why {HOSTILE}",),
    )
    print_grade(grade)
    console.say_error(HOSTILE)
    console.say_warning(HOSTILE)
    shown = "".join(capsys.readouterr())
    assert not [mark for mark in ("\x1b[2J", "\x1b]0", "\x07", "\u202e") if mark in shown]
    assert shown.count("\\x1b[2J") >= 7
    assert "[/nonsense]" in shown

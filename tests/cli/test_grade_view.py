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


def test_an_item_stands_above_the_tests_that_it_ran(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends, and is reported, after them; each service has its own item of a name."""
    ran = [
        TestResult(name, passed, time_ns=time, service=service, item=item)
        for service in ("a", "b")
        for name, passed, time, item in (
            ("m.first", True, 10.0, "run.py::t"),
            ("m.second", False, 20.0, "run.py::t"),
            ("run.py::t", False, None, ""),
        )
    ]
    print_grade(Grade("p", Outcome.FAILED, tests=(TestResult("lint", True), *ran)))
    lines = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith(("pass", "FAIL"))]
    assert lines == ["lint", *2 * ["run.py::t", "first", "second"]]

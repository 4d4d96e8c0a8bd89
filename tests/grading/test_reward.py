"""Rewards: the staged default, the other presets, weights of one's own."""

import pytest

from rtl_agent.grading import PRESETS, Grade, Outcome, Stage, StageName, parse_weights
from rtl_agent.grading.reward import reward


def stages(format: bool, interface: bool | None, syntax: bool, tests: bool, score: float) -> tuple[Stage, ...]:
    return (
        Stage(StageName.FORMAT, format, float(format)),
        Stage(StageName.INTERFACE, interface, 0.5),
        Stage(StageName.SYNTAX, syntax, float(syntax)),
        Stage(StageName.TESTS, tests, score),
    )


GOOD = stages(True, True, True, True, 1.0)
HALF = stages(True, False, True, False, 0.5)
BROKEN = stages(True, None, False, False, 0.0)


@pytest.mark.parametrize(
    ("preset", "judged", "outcome", "total", "maximum"),
    [
        ("staged", GOOD, Outcome.PASSED, 1.4, 1.4),
        ("staged", HALF, Outcome.FAILED, 0.4, 1.4),
        ("staged", BROKEN, Outcome.FAILED, 0.1, 1.4),
        ("staged", (), Outcome.INVALID, 0.0, 1.4),
        ("graded", GOOD, Outcome.PASSED, 1.6, 1.6),
        ("graded", HALF, Outcome.FAILED, 0.9, 1.6),
        ("graded", BROKEN, Outcome.FAILED, 0.1, 1.4),
        ("binary", GOOD, Outcome.PASSED, 1.0, 1.0),
        ("binary", HALF, Outcome.FAILED, 0.0, 1.0),
        ("tests=2,syntax=1", HALF, Outcome.FAILED, 1.0, 3.0),
        ("tests=2,partial=1", HALF, Outcome.FAILED, 1.0, 2.0),
    ],
)
def test_totals(preset: str, judged: tuple[Stage, ...], outcome: Outcome, total: float, maximum: float) -> None:
    earned = reward(outcome, judged, parse_weights(preset))
    assert (earned.total, earned.maximum) == (total, maximum)
    assert sum(earned.parts.values()) == pytest.approx(total)


@pytest.mark.parametrize("text", ["", "best", "tests", "tests=x", "tests=-1", "tests=nan", "tests=inf", "speed=1"])
def test_weights_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"weight"):
        parse_weights(text)


def test_an_error_is_not_a_reward_of_zero_but_no_reward() -> None:
    earned = reward(Outcome.ERROR, (), PRESETS["staged"])
    assert earned.total == 0
    grade = Grade("x", Outcome.ERROR, reward=earned)
    assert grade.outcome is Outcome.ERROR


def test_a_grade_survives_json() -> None:
    import json

    grade = Grade("x", Outcome.FAILED, HALF, reward=reward(Outcome.FAILED, HALF, PRESETS["graded"]), reasons=("why",))
    assert Grade.from_json(json.loads(json.dumps(grade.to_json()))) == grade

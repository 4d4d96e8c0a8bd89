"""A run is a success only where what was measured says so."""

from pathlib import Path

import pytest

from rtl_agent.runs import RunRecord
from rtl_agent.training.criteria import criteria, is_rising, parts_of
from rtl_agent.training.evaluate import ExamResult


def result(passed: float, reward: float, form: float = 1.0) -> dict[str, dict[str, ExamResult]]:
    rates = {"pass_rate": passed, "reward/total": reward, "format_valid": form}
    return {"test": {"greedy": ExamResult(100, 1, rates, passed, {}, 0)}}


def run(rewards: list[float], distances: list[float]) -> RunRecord:
    lines = tuple(
        {"step": step, "env/all/reward/total": reward, "teacher_kl": distance}
        for step, (reward, distance) in enumerate(zip(rewards, distances, strict=True))
    )
    return RunRecord(Path(), {}, lines, (), is_running=False)


RISING = run([0.4, 0.6, 1.0, 1.3], [1.0, 0.6, 0.4, 0.1])
GOOD = {"before": result(0.0, 0.4), "after": result(0.93, 1.33), "teacher": result(0.97, 1.37)}


def met(record: RunRecord, exam: dict[str, dict[str, dict[str, ExamResult]]]) -> dict[str, bool]:
    return {one.name: one.met for one in criteria(record, exam)}


def test_a_run_that_reaches_everything_meets_everything() -> None:
    assert all(met(RISING, GOOD).values())
    assert len(met(RISING, GOOD)) == 8


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({"before": result(0.2, 0.6)}, {"starts by not reading"}),
        ({"before": result(0.0, 0.3, form=0.9)}, {"starts by knowing the format"}),
        ({"after": result(0.85, 1.31)}, {"pass rate", "matches its teacher"}),
        ({"after": result(0.93, 1.29)}, {"total reward"}),
        ({"teacher": result(0.99, 1.39)}, {"matches its teacher"}),
        ({"teacher": result(119 / 120, 1.39), "after": result(113 / 120, 1.34)}, set()),
    ],
)
def test_each_criterion_can_be_missed(changed: dict[str, dict[str, dict[str, ExamResult]]], missed: set[str]) -> None:
    assert {name for name, fine in met(RISING, {**GOOD, **changed}).items() if not fine} == missed


def test_a_setback_and_a_distance_that_stays_are_said() -> None:
    found = met(run([0.4, 0.9, 0.5, 1.3], [1.0, 0.6, 0.4, 0.4]), GOOD)
    assert not found["steady improvement"]
    assert not found["teacher KL"]


def test_what_was_not_measured_is_not_met() -> None:
    found = criteria(run([], []), {})
    assert len(found) == 8
    assert {(one.found, one.met) for one in found} == {("not measured", False)}
    without_exam = met(RISING, {})
    assert {name for name, fine in without_exam.items() if fine} == {"steady improvement", "teacher KL"}


def test_quarters() -> None:
    assert parts_of([1, 1, 2, 2, 3, 3, 4, 4, 4]) == pytest.approx([1, 2, 3, 4])
    assert is_rising([0.4, 0.39, 0.5, 0.6])
    assert not is_rising([0.4, 0.4, 0.4, 0.4])

"""Rates, thirds and the choice of examples, from rollouts with any keys missing."""

from typing import Any

import pytest

from rtl_agent.prompts import Message
from rtl_agent.report.draw import ticks
from rtl_agent.report.episodes import Digest
from rtl_agent.report.episodes import digest as digest_of
from rtl_agent.runs import RolloutRecord


def digest(lines: list[dict[str, Any]]) -> Digest:
    return digest_of(map(RolloutRecord.from_json, lines))


def record(step: int, reward: float, problem: str = "p", outcome: str = "") -> dict[str, Any]:
    outcome = outcome or ("passed" if reward >= 1 else "failed")
    return {"problem_id": problem, "step": step, "reward": {"total": reward}, "grade": {"outcome": outcome}}


def test_rates_over_the_run_and_its_first_and_last_third() -> None:
    (problem,) = digest([record(step, 1.4 if step >= 4 else 0.4) for step in range(9)]).problems
    assert (problem.all.episodes, problem.all.passes) == (9, 5)
    assert problem.all.mean_reward == pytest.approx((5 * 1.4 + 4 * 0.4) / 9)
    assert (problem.first_third.pass_rate, problem.last_third.pass_rate) == (0.0, 1.0)


def test_two_steps_have_no_thirds() -> None:
    (problem,) = digest([record(0, 0.0), record(1, 1.4)]).problems
    assert problem.first_third.pass_rate is None
    assert problem.last_third.mean_reward is None


def test_errors_of_the_grader_count_for_nothing_but_themselves() -> None:
    lost = {"problem_id": "p", "step": 0, "lost": "the server is gone"}
    found = digest([record(0, 0.0, outcome="error"), lost, record(0, 1.4)])
    assert found.errors == 2
    assert found.problems[0].all.pass_rate == 1.0
    assert [episode.outcome for episode in (*found.best, *found.worst)] == ["passed"]


def test_examples_are_extreme_then_of_different_problems_then_late() -> None:
    records = [record(step, 1.4, "easy") for step in range(5)]
    records += [record(2, 1.4, "other"), record(3, 0.0, "hard"), record(4, 0.0, "hard"), record(1, 0.1, "odd")]
    found = digest(records)
    assert [(one.episode.problem_id, one.step) for one in found.best] == [("easy", 4), ("other", 2), ("easy", 3)]
    assert [(one.episode.problem_id, one.step) for one in found.worst] == [("hard", 4), ("hard", 3), ("odd", 1)]


def test_no_episode_is_both_best_and_worst() -> None:
    found = digest([record(0, 1.4), record(1, 1.4), record(2, 0.0), record(3, 0.3)])
    assert sorted(episode.step for episode in (*found.best, *found.worst)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"reward": None, "grade": None, "messages": None},
        {"reward": 0.5, "grade": {"tests": None, "diagnostics": ["a line"], "reasons": None}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "parts"}]}, "not a message"]},
        {"grade": {"tests": [{"passed": False}], "diagnostics": [{}]}},
    ],
)
def test_missing_keys_are_no_error(odd: dict[str, Any]) -> None:
    assert len(digest([odd]).problems) == 1


def test_the_answer_is_the_last_message_where_it_is_not_apart() -> None:
    messages = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "answer"}]
    episode = RolloutRecord.from_json({"messages": messages}).episode
    assert (episode.messages, episode.text) == ((Message("user", "ask"),), "answer")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 1.4), (-0.3, 0.7), (0, 1), (3, 1999), (0.0, 1e-7)])
def test_ticks_are_few_and_within(low: float, high: float) -> None:
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 7
    assert low - 1e-9 <= marks[0]
    assert marks[-1] <= high + 1e-9

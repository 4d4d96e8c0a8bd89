"""Times of things that go on at once."""

import pytest

from rtl_agent.envs.rollout import seed_of
from rtl_agent.training.clock import Clock, union_length
from rtl_agent.training.config import OptimConfig, Schedule
from rtl_agent.training.student import learning_rate


def test_time_in_which_anything_goes_on_counts_once() -> None:
    assert union_length([(0, 2), (1, 3), (5, 6), (5.5, 5.7)]) == pytest.approx(4)
    assert union_length([]) == 0


def test_a_clock_tells_every_kind_and_what_overlapped() -> None:
    clock = Clock()
    with clock.during("sample"), clock.during("grade"):
        pass
    found = clock.lap().metrics()
    assert {"time/sample", "time/grade", "time/overlap", "time/total"} <= found.keys()
    # The one lies wholly in the other, so all of its time was saved.
    assert found["time/overlap"] == pytest.approx(found["time/grade"])
    assert found["time/total"] >= found["time/sample"] >= found["time/grade"]
    assert found["time/idle/sample"] == pytest.approx(found["time/total"] - found["time/sample"])


def test_work_for_a_later_step_counts_in_each_step_for_the_part_that_is_in_it() -> None:
    clock = Clock()
    with clock.during("sample", 1):
        first = clock.lap()
        clock.begin()
        second = clock.lap()
    clock.begin()
    third = clock.lap()
    assert first.metrics()["time/sample"] + second.metrics()["time/sample"] <= first.seconds + second.seconds
    assert second.metrics()["time/idle/sample"] == pytest.approx(0.0, abs=1e-9)
    assert third.metrics()["time/sample"] == 0
    assert third.metrics()["time/idle/sample"] == third.seconds, "what a run has had once can stand idle"
    assert [batch for batch, _, _ in second.line()["lanes"]["sample"]] == [1]


def test_the_learning_rate_rises_then_falls() -> None:
    def rate(step: int, schedule: Schedule) -> float:
        return learning_rate(step, 10, OptimConfig(learning_rate=1.0, lr_schedule=schedule, warmup_steps=2))

    assert rate(0, "linear") == pytest.approx(1 / 3)
    assert rate(2, "linear") == 1.0
    assert rate(6, "linear") == pytest.approx(0.5)
    assert rate(9, "constant") == 1.0
    assert rate(6, "cosine") == pytest.approx(0.5)


def test_seeds_differ_by_every_part_and_repeat() -> None:
    seeds = {seed_of(run, step, name) for run in range(3) for step in range(3) for name in "abc"}
    assert len(seeds) == 27
    assert seed_of(1, 2, "a") == seed_of(1, 2, "a")

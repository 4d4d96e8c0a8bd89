"""Which weights sample which batch, what a step waits for, and what a resumed run samples again."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
import tinker

from rtl_agent.problems import Problem, load_problems
from rtl_agent.training.ahead import Ahead, Drawn, OnTail, Weights
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.rollouts import Group

PROBLEMS = load_problems("bundled")[:6]
CLIENT = cast(tinker.SamplingClient, None)
Played = list[tuple[int, str, int]]


def weights(after: int) -> Weights:
    return Weights(after, CLIENT, f"tinker://run/sampler_weights/{after}")


def draw(batch: int) -> Drawn:
    """Two problems each, in turn."""
    return Drawn((PROBLEMS[2 * batch % 6], PROBLEMS[(2 * batch + 1) % 6]), (PROBLEMS[(2 * batch + 2) % 6],))


def player(played: Played, tails: Callable[[Problem, int], int] = lambda problem, batch: 0) -> Any:
    """Groups with as many tails as `tails` says; what was played by which weights goes into `played`."""

    async def play(problem: Problem, batch: int, by: Weights, on_tail: OnTail) -> Group:
        played.append((batch, problem.id, by.after))
        for number in range(tails(problem, batch)):
            await asyncio.sleep(0)
            on_tail(number + 1)
        await asyncio.sleep(0)
        return Group(problem, ())

    return play


async def steps(ahead: Ahead, first: int, total: int) -> list[list[tuple[str, int]]]:
    """Of each step the groups that it was given, with their ages."""
    found = []
    for step in range(first, total):
        ahead.start(step, weights(step))
        found.append([(group.problem.id, group.age) async for group in ahead.groups(step)])
        ahead.settle(step + 1)
    return found


def names(batch: int) -> list[str]:
    return [problem.id for problem in draw(batch).problems]


@pytest.mark.parametrize("ahead_by", [0, 1, 2])
async def test_batch_k_is_sampled_by_the_weights_after_step_k_minus_n(ahead_by: int) -> None:
    played: Played = []
    ahead = Ahead(OverlapConfig(max_steps_off_policy=ahead_by), 5, draw, player(played), lambda group: True)
    found = await steps(ahead, 0, 5)
    assert {(batch, by) for batch, _, by in played} == {(k, max(0, k - ahead_by)) for k in range(5)}
    assert found == [[(name, min(k, ahead_by)) for name in names(k)] for k in range(5)]
    assert bool(ahead.state) == bool(ahead_by), "an on-policy run has nothing in flight at a checkpoint"


async def test_a_group_that_teaches_nothing_is_replaced_before_its_step_comes() -> None:
    played: Played = []
    empty = names(1)[0]
    ahead = Ahead(
        OverlapConfig(max_steps_off_policy=1), 3, draw, player(played), lambda group: group.problem.id != empty
    )
    ahead.start(0, weights(0))
    for _ in range(10):
        await asyncio.sleep(0)
    assert (1, draw(1).spare[0].id, 0) in played, "by the weights of its batch, while step 0 trains"
    await ahead.aclose()


async def test_a_long_answer_does_not_hold_its_step_and_the_last_step_waits_for_all() -> None:
    long, longest = names(0)[0], names(3)[1]

    def tails(problem: Problem, batch: int) -> int:
        return {(long, 0): 2, (longest, 3): 9}.get((problem.id, batch), 0)

    ahead = Ahead(OverlapConfig(tail_tokens=100), 4, draw, player([], tails), lambda group: True)
    assert await steps(ahead, 0, 4) == [
        [(names(0)[1], 0)],
        [(name, 0) for name in names(1)],
        [*((name, 0) for name in names(2)), (long, 2)],  # after the step's own
        [(name, 0) for name in names(3)],
    ]


async def test_a_late_group_is_waited_for_in_tokens_not_in_time() -> None:
    """One that ended long ago comes as late as one that did not: what a step trains on is not a question of speed."""
    long = names(0)[0]

    async def play(problem: Problem, batch: int, by: Weights, on_tail: OnTail) -> Group:
        if (problem.id, batch) == (long, 0):
            on_tail(1)
        return Group(problem, ())

    ahead = Ahead(OverlapConfig(tail_tokens=100), 3, draw, play, lambda group: True)
    found = await steps(ahead, 0, 3)
    assert (long, 1) in found[1]
    assert long not in [name for name, _ in found[0]]


async def test_a_stale_group_is_dropped_by_option_and_said() -> None:
    long = names(1)[0]
    cancelled: list[str] = []

    async def play(problem: Problem, batch: int, by: Weights, on_tail: OnTail) -> Group:
        try:
            if (problem.id, batch) == (long, 1):
                on_tail(1)
                await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(problem.id)
            raise
        return Group(problem, ())

    options = OverlapConfig(max_steps_off_policy=1, tail_tokens=100, stale_groups="drop")
    ahead = Ahead(options, 3, draw, play, lambda group: True)
    ahead.start(0, weights(0))
    assert len([group async for group in ahead.groups(0)]) == 2
    ahead.settle(1)
    ahead.start(1, weights(1))
    dropped = {group.problem.id: group.dropped async for group in ahead.groups(1)}
    assert dropped == {long: True, names(1)[1]: False}
    await asyncio.sleep(0)
    assert cancelled == [long], "nobody waits for its end"
    await ahead.aclose()


async def test_what_fails_ahead_fails_in_its_own_step() -> None:
    async def play(problem: Problem, batch: int, by: Weights, on_tail: OnTail) -> Group:
        if batch == 1:
            raise ValueError("the server is gone")
        return Group(problem, ())

    ahead = Ahead(OverlapConfig(max_steps_off_policy=1), 3, draw, play, lambda group: True)
    assert len(await steps(ahead, 0, 1)) == 1
    ahead.start(1, weights(1))
    with pytest.raises(ValueError, match="gone"):
        [group async for group in ahead.groups(1)]
    await ahead.aclose()


async def test_none_goes_on_alone() -> None:
    ended: list[str] = []

    async def play(problem: Problem, batch: int, by: Weights, on_tail: OnTail) -> Group:
        try:
            on_tail(1)
            await asyncio.sleep(60)
        finally:
            ended.append(problem.id)
        raise AssertionError

    ahead = Ahead(OverlapConfig(max_steps_off_policy=2, tail_tokens=1), 5, draw, play, lambda group: True)
    ahead.start(0, weights(0))
    assert [group async for group in ahead.groups(0)] == []
    ahead.settle(1)
    await ahead.aclose()
    assert sorted(ended) == sorted(name for batch in range(3) for name in names(batch))


@pytest.mark.parametrize("stopped_after", [1, 2, 3, 4])
@pytest.mark.parametrize("tail_tokens", [0, 100])
async def test_a_resumed_run_samples_what_was_in_flight_by_the_same_weights(
    stopped_after: int, tail_tokens: int
) -> None:
    options = OverlapConfig(max_steps_off_policy=2, tail_tokens=tail_tokens)

    def tails(problem: Problem, batch: int) -> int:
        return (batch + PROBLEMS.index(problem)) % 4 if tail_tokens else 0

    unbroken: Played = []
    whole = await steps(Ahead(options, 6, draw, player(unbroken, tails), lambda group: True), 0, 6)

    before = Ahead(options, 6, draw, player([], tails), lambda group: True)
    assert await steps(before, 0, stopped_after) == whole[:stopped_after]
    await before.aclose()

    def not_drawn_again(batch: int) -> Drawn:
        assert batch >= stopped_after + options.max_steps_off_policy, "a checkpoint keeps what was drawn"
        return draw(batch)

    again: Played = []
    after = Ahead(options, 6, not_drawn_again, player(again, tails), lambda group: True)
    known = {int(number): weights(int(number)) for number in before.state["weights"]}
    after.restore(before.state, known, weights(stopped_after), PROBLEMS)
    assert await steps(after, stopped_after, 6) == whole[stopped_after:]
    assert set(again) <= set(unbroken)
    assert len(again) == len(set(again)), "nothing is sampled twice"


async def test_where_weights_are_lost_the_newest_sample() -> None:
    options = OverlapConfig(max_steps_off_policy=1)
    before = Ahead(options, 4, draw, player([]), lambda group: True)
    await steps(before, 0, 2)
    await before.aclose()
    after = Ahead(options, 4, draw, player([]), lambda group: True)
    after.restore(before.state, {}, weights(2), PROBLEMS)
    assert await steps(after, 2, 4) == [[(name, 0) for name in names(2)], [(name, 1) for name in names(3)]]

"""A curriculum: which problems a step draws, how they move between pools, and what a resumed run draws."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.problems import Problem
from rtl_agent.problems.generate import TRAINED, generate
from rtl_agent.training.curriculum import Curriculum, Outcome
from rtl_agent.training.curriculum_options import CurriculumConfig, Kind, pool_of
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import configure

PROBLEMS = generate(1, 48)
KINDS: tuple[Kind, ...] = ("easy-first", "pools", "adaptive")
GROUP = 8


def start(problems: list[Problem], **of: float) -> dict[str, dict[str, dict[str, float]]]:
    """Nothing was tried yet; priors by family, 0.5 for those that are not named."""
    priors = {one.id: of.get(one.family.removeprefix("generated_"), 0.5) for one in problems}
    return {"problems": {name: {"prior": prior, "solved": 0, "failed": 0} for name, prior in priors.items()}}


def curriculum(kind: Kind, seed: int = 0, batch: int = 6, **options: float) -> Curriculum:
    config = CurriculumConfig(kind, **options)
    return Curriculum.begin(config, PROBLEMS, batch, seed, length=8, start=start(PROBLEMS))


def true_rate(problem: Problem) -> float:
    """A quarter of the families are always solved, half never, the others sometimes."""
    at = TRAINED.index(problem.family.removeprefix("generated_"))
    return (1.0, 0.0, 0.5, 0.0)[at % 4]


def outcome(problem: Problem) -> Outcome:
    return Outcome(problem.id, round(GROUP * true_rate(problem)), GROUP)


def play(found: Curriculum, steps: int, first: int = 0) -> list[tuple[str, ...]]:
    drawn = []
    for step in range(first, first + steps):
        batch = found.batch(step)
        drawn.append(tuple(one.id for one in batch))
        found.learn(step, [outcome(one) for one in batch])
    return drawn


def share_with_signal(drawn: list[tuple[str, ...]]) -> float:
    rates = {problem.id: true_rate(problem) for problem in PROBLEMS}
    every = [0 < rates[name] < 1 for batch in drawn for name in batch]
    return sum(every) / len(every)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_and_outcomes_give_the_same_draws(kind: Kind) -> None:
    first, second, third = (play(curriculum(kind, seed), 12) for seed in (0, 0, 1))
    assert first == second
    assert (first == third) == (kind == "easy-first")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_takes_up_its_record_draws_as_one_that_went_through(kind: Kind) -> None:
    unbroken = play(curriculum(kind), 16)
    resumed = curriculum(kind)
    play(resumed, 9)
    resumed.batch(9)  # drawn by a step that was killed
    again = curriculum(kind)
    by_name = {problem.id: problem for problem in PROBLEMS}
    for step, names in enumerate(unbroken[:9]):
        again.learn(step, [outcome(by_name[name]) for name in names])
    assert play(again, 7, first=9) == unbroken[9:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_full_and_has_no_problem_twice_and_spares_are_others(kind: Kind) -> None:
    found = curriculum(kind)
    for step in range(20):
        batch, spare = found.batch(step), found.spare(step)
        assert len({one.id for one in (*batch, *spare)}) == 2 * found.batch_size
        assert found.batch(step) == batch
        found.learn(step, map(outcome, batch))


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_problems_than_a_batch_are_drawn_once_each(kind: Kind) -> None:
    few = PROBLEMS[:3]
    found = Curriculum.begin(CurriculumConfig(kind), few, 8, 0, length=1, start=start(few))
    assert {one.id for one in found.batch(0)} == {one.id for one in few}
    assert found.spare(0) == ()


def test_easy_first_takes_every_problem_once_by_its_prior() -> None:
    priors = {name: 1 - at / 20 for at, name in enumerate(TRAINED)}
    found = Curriculum.begin(CurriculumConfig("easy-first"), PROBLEMS, 6, 0, length=8, start=start(PROBLEMS, **priors))
    drawn = [problem for step in range(8) for problem in found.batch(step)]
    assert len({problem.id for problem in drawn}) == 48
    order = [TRAINED.index(problem.family.removeprefix("generated_")) for problem in drawn]
    assert order == sorted(order)
    assert found.batch(8) == found.batch(0)


def test_pools_leave_what_is_always_or_never_solved() -> None:
    """After each problem was tried once."""
    found = curriculum("pools")
    first, later = play(found, 8), play(found, 20, first=8)
    assert share_with_signal(first) < 0.5
    assert share_with_signal(later) > 0.8
    pools = {problem.id: found.standings[problem.id].pool for problem in PROBLEMS}
    wanted = {1.0: "easy", 0.5: "normal", 0.0: "hard"}
    assert all(pools[problem.id] == wanted[true_rate(problem)] for problem in PROBLEMS)


def test_pools_draw_their_shares() -> None:
    found = curriculum("pools", batch=10, easy_share=0.2, hard_share=0.3)
    play(found, 6)  # every problem is known then
    pools: Counter[str] = Counter()
    for step in range(6, 16):
        pools.update(found.standings[one.id].pool for one in found.batch(step))
        found.learn(step, map(outcome, found.batch(step)))
    assert pools == {"easy": 20, "hard": 30, "normal": 50}


def test_groups_without_signal_are_replaced_from_the_normal_pool_then_the_hard_one() -> None:
    found = curriculum("pools", batch=8)
    play(found, 6)
    pools = [found.standings[one.id].pool for one in found.spare(6)]
    order = ["normal", "hard", "easy"]
    assert pools == sorted(pools, key=order.index)
    assert pools[0] == "normal"
    nearest = curriculum("adaptive", batch=4)
    play(nearest, 20)
    rates = {problem.id: true_rate(problem) for problem in PROBLEMS}
    assert all(0 < rates[one.id] < 1 for one in nearest.spare(20))


def test_a_problem_comes_back_from_the_easy_and_the_hard_pool() -> None:
    options = CurriculumConfig()
    assert [pool_of(solved, 4, options) for solved in (0, 1, 3, 4)] == ["hard", "normal", "normal", "easy"]
    assert pool_of(0, 0, options) is None
    found = curriculum("pools")
    problem = PROBLEMS[0]
    for step, (solved, pool) in enumerate([(4, "easy"), (2, "normal"), (0, "hard"), (1, "normal")]):
        found.learn(step, [Outcome(problem.id, solved, 4)])
        assert found.standings[problem.id].pool == pool


def test_adaptive_finds_what_is_solved_sometimes_and_keeps_some_others() -> None:
    found = curriculum("adaptive", others_share=0.1)
    first, later = play(found, 4), play(found, 30, first=4)
    assert share_with_signal(first) < share_with_signal(later)
    assert 0.8 < share_with_signal(later) < 1
    drawn = Counter(name for batch in later for name in batch)
    assert len(drawn) > 20
    assert drawn.most_common(1)[0][1] < 30  # not always the same few


def test_adaptive_knows_a_family_by_its_siblings() -> None:
    found = curriculum("adaptive")
    tried, sibling = [one for one in PROBLEMS if one.family == "generated_gray"][:2]
    before = found.estimate(sibling)[0]
    found.learn(0, [Outcome(tried.id, GROUP, GROUP)])
    assert found.estimate(tried)[0] > found.estimate(sibling)[0] > before


def test_what_was_found_long_ago_moves_with_what_its_family_shows_now() -> None:
    """The student learns: a problem that it rarely solved is not as hard once it solves the others of the family."""
    found = curriculum("adaptive")
    early, *others = [one for one in PROBLEMS if one.family == "generated_gray"]
    found.learn(0, [Outcome(early.id, 1, GROUP), *(Outcome(one.id, 3, GROUP) for one in others)])
    before = found.estimate(early)[0]
    for step in range(1, 5):
        found.learn(step, [Outcome(one.id, GROUP, GROUP) for one in others])
    assert found.estimate(early)[0] > before + 0.2
    assert found.estimate(early)[0] < min(found.estimate(one)[0] for one in others)  # and is the hardest of them


def test_where_everything_fails_what_was_never_tried_is_expected_to_fail_too() -> None:
    found = curriculum("adaptive")
    new = next(one for one in PROBLEMS if one.family == "generated_gray")
    before = found.estimate(new)[0]
    for step in range(4):
        found.learn(step, [Outcome(one.id, 0, GROUP) for one in PROBLEMS[6 * step :][:6] if one.family != new.family])
    assert found.estimate(new)[0] < before / 2


def test_what_earlier_runs_found_counts_at_the_start() -> None:
    record = start(PROBLEMS)
    solved, failed = PROBLEMS[0], PROBLEMS[1]
    record["problems"][solved.id].update(solved=400, failed=0)
    record["problems"][failed.id].update(solved=0, failed=400)
    found = Curriculum.begin(CurriculumConfig("adaptive"), PROBLEMS, 6, 0, length=8, start=record)
    assert [found.standings[one.id].pool for one in (solved, failed)] == ["easy", "hard"]
    for step in range(3):  # and is soon outweighed
        found.learn(step, [Outcome(failed.id, GROUP, GROUP)])
    assert found.estimate(failed)[0] > 0.7


def test_metrics_say_where_the_problems_are_and_which_are_new() -> None:
    found = curriculum("pools")
    batch = found.batch(0)
    told = found.learn(0, [Outcome(batch[0].id, 3, GROUP), Outcome(batch[1].id, 0, GROUP), Outcome(batch[2].id, 0, 0)])
    assert told["curriculum/newly_solved"] == 1
    assert told["curriculum/hard"] == pytest.approx(1 / 48)
    assert told["curriculum/easy"] + told["curriculum/normal"] + told["curriculum/hard"] == pytest.approx(1)
    assert found.learn(1, [Outcome(batch[0].id, 3, GROUP)])["curriculum/newly_solved"] == 0


@given(
    kind=st.sampled_from(KINDS),
    batch=st.integers(1, 60),
    shares=st.tuples(st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 1)),
    found=st.lists(st.tuples(st.integers(0, 47), st.integers(0, 8)), max_size=40),
)
def test_any_shares_and_outcomes_give_full_batches_of_training_problems(
    kind: Kind, batch: int, shares: tuple[float, float, float], found: list[tuple[int, int]]
) -> None:
    easy, hard, others = shares
    tried = curriculum(kind, batch=batch, easy_share=easy, hard_share=hard, others_share=others)
    ours = {problem.id for problem in PROBLEMS}
    for step, (at, solved) in enumerate(found):
        tried.learn(step, [Outcome(PROBLEMS[at].id, solved, 8)])
    for step in range(len(found), len(found) + 2):
        names = [one.id for one in tried.batch(step)]
        assert set(names) <= ours
        assert len(names) == len(set(names)) == min(batch, 48) or kind == "easy-first"


def test_options_that_cannot_work_are_refused() -> None:
    assert configure("rl", curriculum="adaptive").curriculum.kind == "adaptive"
    assert configure("rl").curriculum.kind == "none"
    for options in ({"easy_share": 0.6, "hard_share": 0.6}, {"hard_to": 0.8, "easy_from": 0.8}, {"curriculum": "best"}):
        with pytest.raises(BadConfig):
            configure("rl", **options)

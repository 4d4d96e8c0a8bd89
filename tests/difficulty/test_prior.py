"""The pass rate before the first try: what it sees, what moves it, and how far it is off."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from rtl_agent.difficulty import PassRates, Tries, TriesOf, difficulties, fit_prior
from rtl_agent.difficulty.prior import seen_of
from rtl_agent.problems import Problem, load_problems, problem_digest
from rtl_agent.problems.generate import LONGER, TRAINED, generate


@pytest.fixture(scope="module")
def mixed() -> list[Problem]:
    """Families that are solved, and others that are not."""
    return generate(1, 60, families=(*TRAINED[:4], *LONGER))


def tried(problems: list[Problem], rate_of: dict[str, float]) -> dict[str, Tries]:
    chance = Random(0)
    found = {}
    for problem in problems:
        solved = sum(chance.random() < rate_of[problem.family] for _ in range(8))
        found[problem_digest(problem)] = Tries(solved, 8 - solved, 1.0)
    return found


def test_sizes_tags_and_ports_are_seen() -> None:
    problem = next(one for one in load_problems("bundled") if one.reference)
    seen = seen_of(problem)
    assert {"specification", "reference", "targets", "ports"} < seen.keys()
    assert seen[f"category={problem.category}"] == seen[f"difficulty={problem.difficulty}"] == 1.0
    assert seen["ports"] > 1
    without = seen_of(replace(problem, reference=None))
    assert without["reference"] == 0
    assert without["ports"] > 1  # those that its harness touches


def test_with_nothing_tried_longer_is_harder() -> None:
    problems = generate(1, 12)
    shortest, longest = (by(problems, key=lambda one: len(one.prompt)) for by in (min, max))
    prior = fit_prior(problems, {})
    assert prior.rate(longest) < prior.rate(shortest)
    assert prior.rate(replace(longest, difficulty="hard")) < prior.rate(longest)
    assert prior.error is None
    assert "no problem was tried yet" in str(prior)


def test_it_learns_which_families_are_solved_and_says_how_far_it_is_off(mixed: list[Problem]) -> None:
    rates = {problem.family: 0.0 if "long" in problem.family else 0.9 for problem in mixed}
    prior = fit_prior(mixed, tried(mixed, rates))
    assert prior.problems == len(mixed)
    assert prior.error is not None
    assert prior.constant_error is not None
    assert prior.error < 0.25 < prior.constant_error
    unseen = generate(2, 14, families=(*TRAINED[:4], *LONGER))
    for problem in unseen:
        assert (prior.rate(problem) > 0.5) == (rates[problem.family] > 0.5)


def test_a_few_tries_say_little_and_no_rate_is_certain(mixed: list[Problem]) -> None:
    first = mixed[0]
    before = fit_prior(mixed, {}).rate(first)
    after = fit_prior(mixed, {problem_digest(first): Tries(1, 0, 1.0)})
    assert before < after.rate(first) < 0.95
    assert "too few" in str(after)
    always = fit_prior(mixed, {problem_digest(one): Tries(8, 0, 1.0) for one in mixed})
    assert 0.9 < always.rate(first) < 1


def test_what_was_tried_and_what_is_guessed_are_put_together(mixed: list[Problem], tmp_path: Path) -> None:
    with PassRates(tmp_path / "rates.sqlite") as rates:
        rates.record("m", "run 0", 0, [TriesOf(problem_digest(mixed[0]), 12, 0)])
        found, prior = difficulties(mixed, rates, model="m")
        assert [one.problem.id for one in found] == [problem.id for problem in mixed]
        assert found[0].tries.solved == 12
        assert found[0].prior < found[0].estimate < 1
        assert found[1].estimate == pytest.approx(prior.rate(mixed[1]))
        assert difficulties(mixed, rates, model="another")[0][0].tries.tried == 0

"""Filters, and splits that keep families together."""

from collections import defaultdict
from pathlib import Path

import pytest

from rtl_agent.problems import Problem, Selection, Split, read_problems, select, split_of


def test_filters_combine(bundled: dict[str, Problem]) -> None:
    problems = list(bundled.values())
    assert select(problems, Selection()) == problems
    easy = select(problems, Selection(difficulties=["easy"], kinds=["agentic"]))
    assert easy
    assert all(problem.difficulty == "easy" and problem.kind == "agentic" for problem in easy)
    some = problems[3]
    assert select(problems, Selection(ids=[some.id], families=["no such family"])) == []


def test_siblings_are_on_one_side(bundled: dict[str, Problem]) -> None:
    problems = list(bundled.values())
    train = {problem.family for problem in select(problems, Selection(split=Split.TRAIN))}
    held_out = {problem.family for problem in select(problems, Selection(split=Split.HELD_OUT))}
    assert train.isdisjoint(held_out)
    assert train | held_out == {problem.family for problem in problems}


def test_a_familys_side_depends_on_nothing_but_its_name_and_the_seed() -> None:
    assert {split_of("fifo", seed=seed) for seed in range(50)} == {Split.TRAIN, Split.HELD_OUT}
    assert all(split_of("fifo") is split_of("fifo") for _ in range(3))
    assert split_of("fifo", held_out=0.0) is Split.TRAIN
    assert split_of("fifo", held_out=1.0) is Split.HELD_OUT


@pytest.mark.cvdp
def test_the_split_of_cvdp_is_near_its_share(cvdp: Path) -> None:
    sides = defaultdict(set)
    for problem in read_problems(cvdp):
        sides[split_of(problem.family)].add(problem.family)
    share = len(sides[Split.HELD_OUT]) / sum(len(families) for families in sides.values())
    assert 0.1 < share < 0.3

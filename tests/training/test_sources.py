"""Which problems a run learns from, and which it is tested on."""

from collections import Counter

import pytest

from rtl_agent.problems import Kind
from rtl_agent.problems.generate import HELD_OUT_WHOLE
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import parse
from rtl_agent.training.tasks import problem_sets

GENERATED = ["cvdp_jsonl_path=generated", "generated_problems=24", "eval_problems=12"]


def test_the_bundled_problems_are_split_by_family() -> None:
    sets = problem_sets(parse("rl", ["cvdp_jsonl_path=bundled"]))
    train = {problem.family for problem in sets.train}
    assert train
    assert sets.tests["test"]
    assert train.isdisjoint(problem.family for problem in sets.tests["test"])
    assert any("agentic" in text for text in sets.left_out)


def test_generated_problems_are_drawn_by_the_seed_and_tested_on_the_same_ones() -> None:
    first, again, other = (problem_sets(parse("rl", [*GENERATED, f"seed={seed}"])) for seed in (1, 1, 2))
    assert [problem.id for problem in first.train] == [problem.id for problem in again.train]
    assert {problem.id for problem in first.train}.isdisjoint(problem.id for problem in other.train)
    assert first.tests.keys() == {"test", "new"}
    for name in ("test", "new"):
        assert [one.id for one in first.tests[name]] == [one.id for one in other.tests[name]]
        assert {one.id for one in first.tests[name]}.isdisjoint(one.id for one in first.train)
    whole = {f"generated_{name}" for name in HELD_OUT_WHOLE}
    assert {problem.family for problem in first.tests["new"]} <= whole
    assert whole.isdisjoint(problem.family for problem in first.train)


def test_families_can_be_chosen() -> None:
    sets = problem_sets(parse("rl", [*GENERATED, "problems=mux,gray"]))
    assert {problem.family for problem in sets.train} == {"generated_mux", "generated_gray"}
    with pytest.raises(BadConfig, match="the families are"):
        problem_sets(parse("rl", [*GENERATED, "problems=cpu"]))


def test_longer_families_are_drawn_where_they_are_named_in_full() -> None:
    usual = problem_sets(parse("rl", [*GENERATED, "problems=*"]))
    assert usual.train == problem_sets(parse("rl", GENERATED)).train
    mixed = ["problems=generated_*,long_alu,generated_long_mux", "emphasis=long_alu*4", "generated_problems=34"]
    sets = problem_sets(parse("rl", [*GENERATED, *mixed]))
    counted = Counter(problem.family for problem in sets.train)
    assert (counted["generated_long_alu"], counted["generated_long_mux"], counted["generated_alu"]) == (8, 2, 2)
    held_out = {problem.id for problem in sets.tests["test"]}
    assert held_out.isdisjoint(problem.id for problem in sets.train)


def test_some_families_can_be_learned_from_more_often_and_are_tested_on_as_ever() -> None:
    sets = problem_sets(parse("rl", [*GENERATED, "problems=mux,gray", "emphasis=mux*3"]))
    counted = Counter(problem.family for problem in sets.train)
    assert counted == {"generated_mux": 18, "generated_gray": 6}
    assert sets.tests == problem_sets(parse("rl", [*GENERATED, "problems=mux,gray"])).tests
    others = problem_sets(parse("rl", [*GENERATED, "problems=gray", "emphasis=mux*3"])).train
    assert {problem.family for problem in others} == {"generated_gray"}, "a preset's emphasis chooses no family"
    for wrong in ("cpu*2", "mux", "mux*0", "mux*x"):
        with pytest.raises(BadConfig, match="FAMILY\\*TIMES"):
            problem_sets(parse("rl", [*GENERATED, "problems=mux,gray", f"emphasis={wrong}"]))


def test_generated_workspaces_are_the_same_designs_with_the_specification_in_a_file() -> None:
    replies = problem_sets(parse("rl", [*GENERATED, "env=agentic"]))
    workspaces = problem_sets(parse("rl", [*GENERATED, "env=agentic", "cvdp_jsonl_path=generated-workspaces"]))
    for reply, workspace in zip(replies.train, workspaces.train, strict=True):
        assert workspace.kind is Kind.AGENTIC
        assert workspace.id != reply.id
        assert workspace.harness == reply.harness
        assert workspace.context == {"docs/specification.md": f"{reply.prompt}\n"}
        assert reply.prompt not in workspace.prompt
        assert "`docs/specification.md`" in workspace.prompt
        assert f"`{workspace.targets[0]}`" in workspace.prompt
    assert {problem.kind for test in workspaces.tests.values() for problem in test} == {Kind.AGENTIC}
    with pytest.raises(BadConfig, match="needs env=agentic"):
        problem_sets(parse("rl", ["cvdp_jsonl_path=generated-workspaces"]))


def test_everything_can_be_trained_on() -> None:
    assert problem_sets(parse("rl", ["cvdp_jsonl_path=bundled", "heldout=false"])).tests == {}
    assert len(problem_sets(parse("rl", ["cvdp_jsonl_path=bundled", "heldout=false", "limit=3"])).train) == 3

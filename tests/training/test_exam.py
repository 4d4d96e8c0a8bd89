"""An exam has problems of its own, and its results outlast a kill."""

import json

import pytest

from rtl_agent.training.errors import BadConfig
from rtl_agent.training.evaluate import results
from rtl_agent.training.parse import parse
from rtl_agent.training.tasks import exam_sets, problem_sets
from tests.training.conftest import RunIn

SMALL = ("cvdp_jsonl_path=generated", "generated_problems=12", "problems=gray,parity", "eval_problems=2")


def test_no_problem_of_the_exam_is_used_for_anything_else() -> None:
    config = parse("distill", ["generated_problems=60", "eval_problems=24", "exam_problems=24"])
    sets, exam = problem_sets(config), exam_sets(config)
    others = {one.id for one in (*sets.train, *sets.tests["test"], *sets.tests["new"])}
    asked = [one.id for problems in exam.values() for one in problems]
    assert len(set(asked)) == len(asked) == 24 + 8
    assert others.isdisjoint(asked)


def test_files_have_no_problems_to_spare_for_an_exam() -> None:
    with pytest.raises(BadConfig, match="exam_problems needs"):
        exam_sets(parse("rl", ["cvdp_jsonl_path=bundled", "exam_problems=4"]))


def test_student_and_teacher_are_examined_greedily_and_by_samples(run_in: RunIn) -> None:
    words = (*SMALL, "exam_problems=2", "exam_samples=3", "eval_teacher=true", "max_steps=1")
    path = run_in("distill", *words)
    found = results(path)
    assert list(found) == ["before", "after", "teacher"]
    assert found["after"]["test"]["greedy"].problems == 2
    assert found["after"]["test"]["sampled"].k == 3
    assert set(found["after"]["test"]["greedy"].families) == {"generated_gray", "generated_parity"}
    (path / "exam.json").write_text(json.dumps({**json.loads((path / "exam.json").read_text()), "before": {}}))
    run_in("distill", *words, "behavior_if_log_dir_exists=resume")
    assert json.loads((path / "exam.json").read_text())["before"] == {}  # kept, though the run was started again


def test_a_run_that_goes_on_is_examined_anew(run_in: RunIn) -> None:
    words = (*SMALL, "exam_problems=2", "exam_of=after", "eval_every=0")
    path = run_in("distill", *words, "max_steps=1")
    (path / "exam.json").write_text('{"after": {}}')
    run_in("distill", *words, "max_steps=1", "behavior_if_log_dir_exists=resume")
    assert results(path)["after"] == {}  # nothing was learned since
    run_in("distill", *words, "max_steps=2", "behavior_if_log_dir_exists=resume")
    assert results(path)["after"]["test"]["greedy"].problems == 2

"""Evaluations: the teacher's level is measured once, and what was asked is kept once."""

import json
from dataclasses import replace

from rtl_agent.problems.generate import generate
from rtl_agent.runs import read_run
from rtl_agent.training.evaluate import held_out
from tests.training.conftest import RunIn

LEVEL = "teacher/test/env/all/pass_rate"


def test_the_teacher_answers_the_held_out_problems_once(run_in: RunIn) -> None:
    words = ("eval_teacher=true", "max_tokens=8", "save_every=1")
    path = run_in("distill", *words, "max_steps=1")
    first, after = read_run(path).metrics
    assert first[LEVEL] == 0
    assert {f"teacher/{name}" for name in first if name.startswith("test/")} <= first.keys()
    assert not [name for name in after if name.startswith("teacher/")]
    asked = {line["problem_id"] for line in read_run(path).held_out()}
    assert [one["problem_id"] for one in read_run(path).episodes("teacher")] == sorted(asked)
    answered = (path / "rollouts" / "teacher_000000.jsonl.gz").stat().st_mtime_ns
    run_in("distill", *words, "max_steps=2", "behavior_if_log_dir_exists=resume")
    assert read_run(path).series(LEVEL) == [(0, 0.0)]
    assert [file.stat().st_mtime_ns for file in path.glob("rollouts/teacher_*.jsonl.gz")] == [answered]


def test_a_level_that_is_asked_for_late_is_measured_at_the_next_evaluation(run_in: RunIn) -> None:
    words = ("max_tokens=8", "save_every=1")
    path = run_in("distill", *words, "max_steps=1")
    assert read_run(path).series(LEVEL) == []
    assert not list(read_run(path).episodes("teacher"))
    run_in("distill", *words, "max_steps=2", "eval_teacher=true", "behavior_if_log_dir_exists=resume")
    assert [step for step, _ in read_run(path).series(LEVEL)] == [1]


def test_held_out_problems_are_kept_with_their_references_and_their_set() -> None:
    (known, other) = generate(0, 2)
    lines = json.loads(json.dumps(held_out({"test": (known,), "new": (other,)})))
    assert [(line["problem_id"], line["set"]) for line in lines] == [(known.id, "test"), (other.id, "new")]
    assert lines[0]["reference"] == known.reference
    assert lines[0]["specification"] == known.prompt


def test_a_withheld_reference_is_no_reference() -> None:
    (problem,) = generate(0, 1)
    (line,) = held_out({"test": (replace(problem, reference=None),)})
    assert line["reference"] is None

"""Runs that sample ahead: on-policy as before to the bit, off-policy repeating and resuming to the bit."""

import json
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.runs import read_run
from tests.training.conftest import RunIn
from tests.training.on_policy_records import KEPT, OPTIONS, processor, recorded

AHEAD = ["max_steps_off_policy=1", "save_every=2", "eval_every=0"]


@pytest.mark.parametrize(
    "name", ["distill", pytest.param("rl", marks=pytest.mark.slow), pytest.param("agentic", marks=pytest.mark.slow)]
)
def test_on_policy_the_loop_records_what_it_did_before_it_could_sample_ahead(run_in: RunIn, name: str) -> None:
    kept = json.loads(KEPT.read_text())
    mode, *words = OPTIONS[name]
    found = recorded(run_in(mode, "preset=small", "split_seed=6", *words))
    before = kept["runs"][name]
    if kept["processor"] == processor():
        assert found == before
        return
    assert [[one[0] for one in episodes] for episodes in found["episodes"].values()] == [
        [one[0] for one in episodes] for episodes in before["episodes"].values()
    ]
    for now, then in zip(found["metrics"], before["metrics"], strict=True):
        assert now.keys() == then.keys()
        assert now["env/all/reward/total"] == pytest.approx(then["env/all/reward/total"], abs=0.2)


def lines(run: Path, *, without: tuple[str, ...] = ("time/", "throughput/", "grading/")) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith(without)} for line in found]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("rl", ["max_steps_off_policy=1", "curriculum=adaptive"]),
        pytest.param("distill", ["max_steps_off_policy=2", "tail_tokens=16"], marks=pytest.mark.slow),
        pytest.param("rl", ["tail_tokens=16", "stale_groups=drop"], marks=pytest.mark.slow),
    ],
)
def test_a_resumed_run_ends_as_an_unbroken_one(
    run_in: RunIn, taught: str, tmp_path: Path, mode: str, words: list[str]
) -> None:
    start = [f"load_checkpoint_path={taught}", "learning_rate=1e-3", "save_every=2", "eval_every=0", *words]
    unbroken = run_in(mode, *start, "max_steps=4", f"log_path={tmp_path / 'unbroken'}")
    run_in(mode, *start, "max_steps=2", f"log_path={tmp_path / 'broken'}")
    again = run_in(mode, *start, "max_steps=4", f"log_path={tmp_path / 'broken'}", "behavior_if_log_dir_exists=resume")
    if "tail_tokens=16" in words:  # the last of two steps has waited for what the second of four does not wait for
        assert [line["step"] for line in lines(again)] == [0, 1, 2, 3]
        return
    assert lines(again) == lines(unbroken)
    assert recorded(again)["episodes"] == recorded(unbroken)["episodes"]


def test_a_run_that_samples_ahead_says_how_old_its_rollouts_are(run_in: RunIn, taught: str) -> None:
    run = run_in(
        "rl", f"load_checkpoint_path={taught}", "max_steps_off_policy=2", "max_steps=4", "learning_rate=1e-3",
        "eval_every=0", "save_every=2",
    )  # fmt: skip
    measured = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["off_policy/age_mean"] for line in measured] == [0, 1, 2, 2]
    assert [line["off_policy/age_max"] for line in measured] == [0, 1, 2, 2]
    assert measured[0]["off_policy/ratio_mean"] == pytest.approx(1, abs=1e-4)
    assert measured[0]["off_policy/ess"] == pytest.approx(1, abs=1e-4)
    assert all({"time/idle/sample", "time/idle/grade", "time/idle/train"} <= line.keys() for line in measured)
    ages = {(one["step"], one.get("age", 0)) for one in read_run(run).episodes()}
    assert ages == {(0, 0), (1, 1), (2, 2), (3, 2)}
    timeline = [json.loads(line) for line in (run / "timeline.jsonl").read_text().splitlines()]
    assert [line["step"] for line in timeline] == [0, 1, 2, 3]
    sampled = {batch for line in timeline for batch, _, _ in line["lanes"].get("sample", [])}
    assert sampled == {0, 1, 2, 3}

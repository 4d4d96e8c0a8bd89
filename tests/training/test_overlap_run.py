"""Runs that sample ahead: on-policy as before to the bit, off-policy repeating and resuming to the bit."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.backends.connect import Connection
from rtl_agent.runs import RunWriter, read_run
from rtl_agent.training.interrupt import Interrupted, Stop
from tests.training.conftest import RunIn
from tests.training.on_policy_records import KEPT, OPTIONS, processor, recorded


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


def lines(
    run: Path, *, without: tuple[str, ...] = ("time/", "throughput/", "grading/", "cost/")
) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith(without)} for line in found]


def stop_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run is stopped when so many steps are done, as Ctrl-C does it."""
    stop = Stop()
    log_metrics = RunWriter.log_metrics

    def log(self: RunWriter, step: int, metrics: Mapping[str, float]) -> None:
        log_metrics(self, step, metrics)
        if step + 1 == steps:
            stop.request()

    monkeypatch.setattr(RunWriter, "log_metrics", log)
    monkeypatch.setattr("rtl_agent.training.start.Stop", lambda **options: stop)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("rl", ["max_steps_off_policy=1", "curriculum=adaptive", "tail_tokens=16"]),
        pytest.param("distill", ["max_steps_off_policy=2", "tail_tokens=16"], marks=pytest.mark.slow),
        pytest.param("rl", ["tail_tokens=16", "stale_groups=drop"], marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_resumes_and_ends_as_an_unbroken_one(
    run_in: RunIn, taught: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, words: list[str]
) -> None:
    """What was in flight when it stopped is sampled again by the weights that had begun it."""
    start = [f"load_checkpoint_path={taught}", "learning_rate=1e-3", "max_steps=4", "save_every=0", "eval_every=0"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))  # a curriculum begins with what other runs have found
    unbroken = run_in(mode, *start, *words, f"log_path={tmp_path / 'unbroken'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    broken = [f"log_path={tmp_path / 'broken'}", "behavior_if_log_dir_exists=resume"]
    with monkeypatch.context() as patched:
        stop_after(2, patched)
        with pytest.raises(Interrupted):
            run_in(mode, *start, *words, *broken)
    again = run_in(mode, *start, *words, *broken)
    assert lines(again) == lines(unbroken)
    assert recorded(again)["episodes"] == recorded(unbroken)["episodes"]
    late = sum(line["off_policy/late_groups"] + line["off_policy/dropped_groups"] for line in lines(again))
    assert late > 0, "some answers are longer than tail_tokens"


def published(server: Connection) -> set[Path]:
    """Weights that were kept for batches in flight."""
    assert server.server is not None
    return set(server.server.log.parent.glob("*/sampler_weights/*-ahead"))


def test_a_run_that_samples_ahead_says_how_old_its_rollouts_are(run_in: RunIn, taught: str, server: Connection) -> None:
    before = published(server)
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
    kept = {path.name for path in published(server) - before}
    assert kept == {"000002-ahead", "000003-ahead", "000004-ahead"}, "what the last checkpoint names, and the newest"

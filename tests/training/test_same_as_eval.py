"""One episode, whoever plays it: a run's own evaluation and `rtl-agent eval` of its checkpoint give the same tokens."""

import json
import sys
from pathlib import Path

import pytest

from rtl_agent.cli.main import run as command
from rtl_agent.envs.rollout import seed_of
from rtl_agent.runs import read_run
from rtl_agent.runs.episode import Episode
from tests.training.conftest import RunIn

KINDS = {
    "single": ["env=single"],
    "refine": ["env=refine", "rounds=1"],
    "agentic": ["env=agentic", "max_turns=2", "level=feedback"],
}


def evaluated(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["rtl-agent", "eval", *words])
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code in (0, None)


@pytest.mark.parametrize(("env", "temperature"), [("single", 0), ("single", 1), ("refine", 1), ("agentic", 1)])
def test_an_evaluation_in_a_run_is_an_evaluation_of_its_checkpoint(
    env: str,
    temperature: int,
    run_in: RunIn,
    taught: str,
    gates: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = run_in(
        "rl",
        *KINDS[env],
        f"load_checkpoint_path={taught}",
        "heldout_fraction=0.5",
        "max_steps=1",
        "eval_samples=3",
        f"eval_temperature={temperature}",
        "seed=5",
    )
    run = read_run(path)
    by_training = [episode for episode in run.episodes("eval") if episode["step"] == 1]
    assert by_training
    ids = list(dict.fromkeys(episode["problem_id"] for episode in by_training))
    out = tmp_path / "result.json"
    evaluated(
        [
            str(gates), "--model", str(path), "--checkpoint", "last", "--out", str(out), "--samples", "3",
            "--temperature", str(temperature), "--seed", str(seed_of(5, "eval")),
            *(word for one in ids for word in ("--id", one)),
        ],
        monkeypatch,
    )  # fmt: skip
    lines = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()][1:]
    by_eval = {(line["episode"]["problem_id"], line["index"]): line["episode"] for line in lines}
    assert len(by_eval) == len(by_training) == 3 * len(ids)
    for record in by_training:
        ours, theirs = Episode.from_json(record), Episode.from_json(by_eval[record["problem_id"], record["rollout"]])
        assert ours.grade is not None
        assert theirs.grade is not None
        assert theirs.sampled_tokens == ours.sampled_tokens, "sampled the same"
        assert theirs.sampled_logprobs == ours.sampled_logprobs
        assert theirs.prompt_tokens == ours.prompt_tokens
        assert theirs.config == ours.config, "by the same rules"
        assert [turn.observation for turn in theirs.turns] == [turn.observation for turn in ours.turns]
        assert (theirs.grade.outcome, theirs.grade.stages) == (ours.grade.outcome, ours.grade.stages)
        assert (theirs.grade.tests, theirs.reward, theirs.end_reason) == (
            ours.grade.tests,
            ours.reward,
            ours.end_reason,
        )
    result, metrics = json.loads(out.read_text()), run.metrics[-1]
    summary = result["summary"]
    assert summary["reward"] == pytest.approx(metrics["test/env/all/reward/total"])
    assert summary["pass_at"][0]["unbiased"] == pytest.approx(metrics["test/env/all/pass_rate"])
    for grouping, parts in result["by"].items():
        for name, part in parts.items():
            assert part["reward"] == pytest.approx(metrics[f"test/env/{grouping}/{name}/reward"])
            assert part["pass_at"][0]["unbiased"] == pytest.approx(metrics[f"test/env/{grouping}/{name}/pass_rate"])

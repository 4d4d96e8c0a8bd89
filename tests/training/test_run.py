"""Runs by the real server and the real grader: what they learn from and what they leave behind."""

import json
from pathlib import Path

import pytest

from rtl_agent.runs import read_run
from rtl_agent.runs.files import read_lines
from tests.training.conftest import RunIn

NAMES = {
    "env/all/reward/total",
    *(f"env/all/reward/{part}" for part in ("format_valid", "interface_valid", "syntax_valid", "tests_passed")),
    *(f"env/all/{rate}" for rate in ("format_valid", "interface_valid", "syntax_valid", "tests_passed", "pass_rate")),
    *(f"env/all/{count}" for count in ("tests_fraction", "ac_tokens_per_turn", "ob_tokens_per_turn")),
    *("env/all/turns_per_episode", "env/all/total_episodes", "optim/entropy", "optim/lr"),
    *("optim/kl_sample_train_v1", "optim/kl_sample_train_v2", "step", "groups/no_signal"),
    *("grading/errors", "grading/cache_hits", "time/sample", "time/grade", "time/train", "time/total"),
}


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_a_taught_student_is_rewarded_and_learns_from_the_difference(run_in: RunIn, taught: str) -> None:
    path = run_in("rl", f"load_checkpoint_path={taught}", "group_size=4", "learning_rate=1e-3")
    first, second, last = lines(path)
    assert first.keys() >= NAMES
    assert first["env/all/reward/total"] > 0.1
    assert first["env/all/total_episodes"] == 12
    assert abs(first["optim/kl_sample_train_v1"]) < 1e-4
    assert first["groups/no_signal"] < 1
    assert second["loss/policy"] != 0
    assert "test/env/all/reward/total" in last
    assert last["step"] == 2
    assert last.keys().isdisjoint({"env/all/reward/total"})


def test_modes_have_the_same_names_but_for_the_teacher(run_in: RunIn) -> None:
    path = run_in("distill")
    assert lines(path)[0].keys() >= NAMES | {"teacher_kl", "time/teacher"}


def test_every_episode_is_kept_with_its_tokens_and_the_teachers_view(run_in: RunIn, taught: str) -> None:
    path = run_in("distill", f"load_checkpoint_path={taught}", "forward_kl_coef=0")
    record = read_run(path)
    episodes = list(read_lines(path / "rollouts" / "step_000000.jsonl.gz"))
    assert len(episodes) == 6
    for one in episodes:
        count = len(one["sampled_tokens"])
        assert len(one["sampled_logprobs"]) == len(one["teacher_logprobs"]) == len(one["reverse_kl"]) == count > 0
        pairs = zip(one["sampled_logprobs"], one["teacher_logprobs"], strict=True)
        assert one["reverse_kl"] == pytest.approx([mine - theirs for mine, theirs in pairs])
        assert len(one["entropy"]) == count
        assert all(0 <= entropy < 10 for entropy in one["entropy"])
        assert one["grade"]["outcome"] in ("passed", "failed", "invalid")
        assert one["messages"][-1]["role"] == "user"
    assert record.config["teacher"] == "rtl-agent/teacher"
    assert (path / "rollouts" / "eval_000000.jsonl.gz").exists()


def test_checkpoints_are_kept_and_the_best_is_marked(run_in: RunIn, taught: str) -> None:
    """The one before the first step, and every later one that is not worse: here all are alike."""
    path = run_in("rl", f"load_checkpoint_path={taught}", "save_every=1", "eval_every=1", "learning_rate=1e-12")
    saved = [json.loads(line) for line in (path / "checkpoints.jsonl").read_text().splitlines()]
    assert [one["step"] for one in saved if not one["best"]] == [1, 2]
    assert [one["step"] for one in saved if one["best"]] == [0, 1, 2]
    assert all(one["state_path"].startswith("tinker://") for one in saved)


def test_without_weight_on_tests_nothing_is_simulated(run_in: RunIn, taught: str) -> None:
    path = run_in("rl", f"load_checkpoint_path={taught}", "test_coef=0", "group_size=4", "max_steps=1")
    episodes = list(read_lines(path / "rollouts" / "step_000000.jsonl.gz"))
    assert any(one["reward_parts"].get("syntax") for one in episodes)
    assert all(not one["grade"]["tests"] for one in episodes)


def test_groups_without_signal_can_be_dropped_or_replaced(run_in: RunIn) -> None:
    short = ("temperature=0", "max_steps=1", "eval_every=0")  # the likeliest answer four times: equal rewards
    dropped = lines(run_in("rl", "groups_without_signal=drop", *short))[0]
    assert dropped["groups/no_signal"] == 1
    assert dropped["optim/steps"] == 0
    again = "behavior_if_log_dir_exists=delete"
    words = ("groups_without_signal=resample", "batch_size=1", *short, again)
    assert lines(run_in("rl", *words))[0]["env/all/total_episodes"] == 4


def test_an_agent_is_trained_on_its_own_tokens_and_never_on_observations(run_in: RunIn, taught: str) -> None:
    path = run_in("distill", f"load_checkpoint_path={taught}", "env=agentic", "max_turns=2", "max_steps=1")
    first = lines(path)[0]
    assert first["env/all/turns_per_episode"] >= 1
    assert sum(value for name, value in first.items() if name.startswith("env/all/end/")) == pytest.approx(1)
    for one in read_run(path).episodes():
        sampled = [token for turn in one["turns"] for token in turn["sampled_tokens"]]
        assert one["sampled_tokens"] == sampled
        assert len(one["teacher_logprobs"]) == len(one["reverse_kl"]) == len(sampled) == len(one["sampled_logprobs"])


def test_an_answer_is_refined_in_rounds(run_in: RunIn, taught: str) -> None:
    path = run_in("rl", f"load_checkpoint_path={taught}", "env=refine", "rounds=1", "max_steps=1", "temperature=2.0")
    first = lines(path)[0]
    assert 1 < first["env/all/turns_per_episode"] <= 2
    assert "env/all/refine/round_0_reward" in first


def test_references_can_be_learned_by_heart(run_in: RunIn, taught: str) -> None:
    path = run_in("supervised", "learning_rate=1e-2", "max_steps=6", "eval_every=3")
    found = lines(path)
    assert found[0].keys().isdisjoint(NAMES & {"env/all/reward/total", "optim/entropy"})
    assert found[5]["loss/imitation"] < 0.7 * found[0]["loss/imitation"]
    assert found[0]["time/cpu"] > 0
    assert "test/env/all/reward/total" in found[-1]


def test_one_pass_learns_what_two_learn(run_in: RunIn, taught: str, tmp_path: Path) -> None:
    words = (f"load_checkpoint_path={taught}", "group_size=4", "max_steps=2", "eval_every=0")
    one, two = (
        lines(run_in("distill", *words, f"one_pass={way}", f"log_path={tmp_path / way}"))[1]
        for way in ("true", "false")
    )
    same = ("env/all/reward/total", "teacher_kl", "optim/entropy", "env/all/total_ac_tokens")
    assert [one[name] for name in same] == pytest.approx([two[name] for name in same], rel=1e-3)
    assert abs(one["optim/kl_sample_train_v1"]) < 1e-4

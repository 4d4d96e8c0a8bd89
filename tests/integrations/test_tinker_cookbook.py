"""tinker-cookbook's own training program learns from our problems, which it is given by name, against our server."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import chz
import pytest
from tinker_cookbook.rl import train

from rtl_agent.backends.connect import connect
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.integrations.tinker_cookbook import RTLDatasetBuilder, RTLGroupBuilder
from tests.integrations.environments import ROOT

OURS = "rtl-agent/student"
BY_NAME = "dataset_builder=rtl_agent.integrations.tinker_cookbook:RTLDatasetBuilder"


def words(model: str, **options: Any) -> list[str]:
    """The part of a command line that chooses the problems."""
    named = {"model_name_for_tokenizer": model, **options}
    return [BY_NAME, *(f"dataset_builder.{name}={value}" for name, value in named.items())]


def built(**options: Any) -> RTLDatasetBuilder:
    """As a recipe makes it of its command line."""
    other = (f"model_name={OURS}", "recipe_name=test", "learning_rate=1e-3", "max_tokens=64", "log_path=nowhere")
    config = chz.Blueprint(train.Config).make_from_argv([*other, *words(OURS, **options)])
    assert isinstance(config.dataset_builder, RTLDatasetBuilder)
    return config.dataset_builder


async def test_it_is_made_by_its_name_and_its_options() -> None:
    dataset, tests = await built(problems="generated:mux,count=6", batch_size=2, group_size=3)()
    assert tests is None
    groups = [group for index in range(len(dataset)) for group in dataset.get_batch(index)]
    assert [isinstance(group, RTLGroupBuilder) and group.group_size for group in groups] == [3] * 6
    assert len({group.problem.id for group in groups if isinstance(group, RTLGroupBuilder)}) == 6


async def test_families_that_are_held_out_are_the_test_set() -> None:
    dataset, tests = await built(problems="bundled", batch_size=4, held_out=0.3)()
    assert tests is not None
    sides = [
        {group.problem.family for index in range(len(side)) for group in side.get_batch(index)}  # type: ignore[attr-defined]
        for side in (dataset, tests)
    ]
    assert sides[0]
    assert sides[1]
    assert not sides[0] & sides[1]


async def test_a_group_plays_in_another_process_by_its_options_alone() -> None:
    dataset, _ = await built(problems="bundled", limit=1, batch_size=1, group_size=1, reward="binary")()
    (group,) = dataset.get_batch(0)
    sent = pickle.loads(pickle.dumps(group))
    (env,) = await sent.make_envs()
    await env.initial_observation()
    result = await env.step(sent.renderer.tokenizer.encode("no code"), extra={"stop_reason": "stop"})
    assert result.episode_done
    assert env.episode.grade.outcome == "invalid"
    assert env.episode.grade.reward.maximum == 1.0


async def test_what_cannot_be_graded_raises_and_is_no_reward(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTL_AGENT_GRADE_KEY", "k" * 32)
    nobody = f"http://127.0.0.1:{unused_tcp_port}"
    dataset, _ = await built(problems="bundled", limit=1, batch_size=1, group_size=1, executor=nobody)()
    (group,) = dataset.get_batch(0)
    (env,) = await group.make_envs()
    await env.initial_observation()
    (text,) = (env.problem.reference or {}).values()  # type: ignore[attr-defined]
    tokens = group.renderer.tokenizer.encode(f"```systemverilog\n{text}\n```")  # type: ignore[attr-defined]
    with pytest.raises(EpisodeFailed):
        await env.step(tokens, extra={"stop_reason": "stop"})


@pytest.mark.slow
def test_its_training_program_takes_two_steps(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with connect("embedded", models=[OURS], state=tmp_path / "state") as connection:
        options = [
            *(f"model_name={OURS}", f"base_url={connection.base_url}", f"log_path={log}", "lora_rank=4"),
            *("max_steps=2", "max_tokens=160", "learning_rate=1e-3", "save_every=0", "recipe_name=test"),
            *words(OURS, problems="generated:mux,count=4", batch_size=2, group_size=2, max_tokens=160, context=4096),
        ]
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "integrations" / "cookbook_rl.py", *options],
            env={**os.environ, "TINKER_API_KEY": connection.api_key, "TINKER_TELEMETRY": "0"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    trained = [row for row in rows if "env/all/reward/total" in row]
    assert len(trained) == 2
    assert all(0 <= row["env/all/reward/total"] <= 1.4 and 0 <= row["env/all/format_valid"] <= 1 for row in trained)
    played = [json.loads(line) for file in log.rglob("*rollout_summaries.jsonl") for line in file.open()]
    assert len(played) == 8
    assert {one["steps"][-1]["logs"]["outcome"] for one in played} <= {"passed", "failed", "invalid"}

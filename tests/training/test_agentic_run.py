"""Agents in training, on the bundled workspaces: real sandboxes and commands; only what a model said is trained on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinker

from rtl_agent.backends.connect import Connection
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig
from rtl_agent.problems import Kind, Problem, load_problems
from rtl_agent.runs import read_run
from rtl_agent.training.config import STUDENT
from tests.training.conftest import RunIn

CALL = "```bash\nls rtl\n```<|im_end|>"  # the shortest way: 12 tokens, where a <tool_call> has 39
TEACHING_STEPS = 30
WORKSPACES = [problem for problem in load_problems("bundled") if problem.kind is Kind.AGENTIC]


@pytest.fixture(scope="session")
def calling(server: Connection) -> str:
    """A student that has learned by heart to call the shell in one of the workspaces."""
    data = [_shown(min(WORKSPACES, key=lambda problem: len(problem.prompt)))]
    client = server.service.create_lora_training_client(STUDENT, rank=0, seed=0)
    for _ in range(TEACHING_STEPS):
        client.forward_backward(data, "cross_entropy")
        done = client.optim_step(tinker.AdamParams(learning_rate=3e-3))
    done.result()
    return str(client.save_state("calling").result().path)


def _shown(problem: Problem) -> tinker.Datum:
    builder = ProblemGroupBuilder(problem, 1, STUDENT, "rtl_agent", EpisodeConfig(AGENTIC))
    asked = list(builder.prompt().tokens)
    said = builder.renderer.tokenizer.encode(CALL, add_special_tokens=False)
    tokens, weights = [*asked, *said], [0.0] * (len(asked) - 1) + [1.0] * len(said)
    return tinker.Datum(
        model_input=tinker.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={
            "target_tokens": tinker.TensorData.from_numpy(np.array(tokens[1:])),
            "weights": tinker.TensorData.from_numpy(np.array(weights, np.float32)),
        },
    )


def trained(run_in: RunIn, mode: str, calling: str) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """One step on all bundled workspaces: its metrics, and its episodes."""
    path: Path = run_in(
        mode, "env=agentic", "cvdp_jsonl_path=bundled", f"load_checkpoint_path={calling}", "heldout=false",
        "batch_size=5", "group_size=2", "max_turns=2", "max_steps=1", "eval_every=0",
    )  # fmt: skip
    metrics = json.loads((path / "metrics.jsonl").read_text().splitlines()[0])
    return metrics, list(read_run(path).episodes())


@pytest.mark.parametrize("mode", ["rl", "distill"])
def test_a_step_is_trained_on_every_bundled_workspace(run_in: RunIn, calling: str, mode: str) -> None:
    metrics, episodes = trained(run_in, mode, calling)
    assert {one["problem_id"] for one in episodes} == {problem.id for problem in WORKSPACES}
    assert metrics["env/all/total_episodes"] == len(episodes) == 10
    assert metrics["grading/errors"] == 0
    assert sum(value for name, value in metrics.items() if name.startswith("env/all/end/")) == pytest.approx(1)
    assert metrics["env/all/tool_calls"] > 0, "commands were run in boxes"
    for one in episodes:
        sampled = [token for turn in one["turns"] for token in turn["sampled_tokens"]]
        assert one["sampled_tokens"] == sampled
        assert len(one["sampled_logprobs"]) == len(sampled)
    shown = [turn for one in episodes for turn in one["turns"] if "[exit code 0]" in turn["observation"]]
    assert any(turn["observation_tokens"] for turn in shown), "and what they printed was shown"
    if mode == "distill":
        assert all(len(one["reverse_kl"]) == len(one["sampled_tokens"]) for one in episodes), "not of observations"
        spoken = sum(sum(one["reverse_kl"]) for one in episodes) / sum(len(one["reverse_kl"]) for one in episodes)
        assert metrics["teacher_kl"] == pytest.approx(spoken, rel=1e-3)

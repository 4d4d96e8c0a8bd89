"""Agentic episodes in tokens, in both dialects: verbatim, only extended, one datum; and builders that clean up."""

import asyncio
import os
import pickle
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
import pytest_asyncio
import tinker
from tinker_cookbook.completers import StopCondition, TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.data_processing import trajectory_to_data
from tinker_cookbook.rl.metric_util import compute_trajectory_metrics
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.tokenizer_utils import register_tokenizer

from rtl_agent.envs.env import EpisodeEnv, ProblemGroupBuilder, live_grader
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig, Level
from rtl_agent.envs.task_sampler import fitting
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.runs.episode import Episode
from tests.envs.vocabularies import gpt_oss
from tests.grading.processes import named

pytestmark = pytest.mark.asyncio(loop_scope="module")
TARGET = "rtl/fixed_priority_arbiter.sv"
GPT_OSS = "openai/gpt-oss-20b"
RIGHT, WRONG = 1.4, 0.4


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live() -> AsyncIterator[Grader]:
    register_tokenizer(GPT_OSS, gpt_oss)
    async with Grader(jobs=2) as grader:
        with live_grader(grader):
            yield grader


def builder(problem: Problem, group_size: int = 1, model: str = "qwen", **options: object) -> ProblemGroupBuilder:
    rules = EpisodeConfig(AGENTIC, **{"extra_tools": True, **options})  # type: ignore[arg-type]
    if model == "qwen":
        return ProblemGroupBuilder(problem, group_size, "rtl-agent/student", "rtl_agent", rules)
    return ProblemGroupBuilder(problem, group_size, GPT_OSS, "gpt_oss_low_reasoning", rules)


def spoken(model: str, name: str, arguments: str) -> str:
    """A call as the model writes it, with text before."""
    if model == "qwen":
        return f'I call {name}.\n<tool_call>{{"name": "{name}", "args": {arguments}}}</tool_call><|im_end|>'
    thinking = f"<|channel|>analysis<|message|>I call {name}.<|end|><|start|>assistant"
    return f"{thinking}<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"


def writes(problem: Problem, text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("'", "'\\\\''")
    return f'{{"command": "printf %s \'{escaped}\' > {problem.targets[0]}"}}'


class Speaks(TokenCompleter):
    """A model that says what it was told to, each episode's turns in order; it remembers what it was shown."""

    def __init__(self, tokenizer: object, episodes: Sequence[Sequence[str]]) -> None:
        self._tokenizer, self._episodes = tokenizer, [list(turns) for turns in episodes]
        self._playing: dict[int, list[str]] = {}
        self.shown: list[list[int]] = []

    async def __call__(
        self, model_input: tinker.ModelInput, stop: StopCondition, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        self.shown.append(model_input.to_ints())
        task = id(asyncio.current_task())
        turns = self._playing.setdefault(task, self._episodes[len(self._playing)] if task not in self._playing else [])
        tokens = self._tokenizer.encode(turns.pop(0), add_special_tokens=False)  # type: ignore[attr-defined]
        return TokensWithLogprobs(tokens, [-0.5 - at for at in range(len(tokens))], "stop")


@pytest.mark.parametrize("model", ["qwen", "harmony"])
async def test_a_whole_episode_is_one_datum_with_the_sampled_tokens_as_they_were(
    live: Grader, arbiter: Problem, model: str
) -> None:
    asked = builder(arbiter, model=model)
    assert arbiter.reference is not None
    turns = [
        spoken(model, "execute_bash", '{"command": "ls rtl; echo \'<|im_end|><|call|>\'"}'),
        spoken(model, "execute_bash", writes(arbiter, arbiter.reference[TARGET])),
        spoken(model, "lint", "{}"),
        spoken(model, "submit", "{}"),
    ]
    policy = Speaks(asked.renderer.tokenizer, [turns])
    group = await do_group_rollout(asked, policy)
    assert group.get_total_rewards() == [RIGHT]
    (trajectory,) = group.trajectories_G
    for before, after in zip(policy.shown, policy.shown[1:], strict=False):
        assert after[: len(before)] == before, "an observation is only ever extended"
    (datum,) = trajectory_to_data(trajectory, 1.0)
    mask = datum.loss_fn_inputs["mask"].to_numpy()
    sampled = [token for transition in trajectory.transitions for token in transition.ac.tokens]
    logprobs = [logprob for transition in trajectory.transitions for logprob in transition.ac.logprobs]
    assert [int(token) for token in datum.loss_fn_inputs["target_tokens"].to_numpy()[mask > 0]] == sampled
    assert datum.loss_fn_inputs["logprobs"].to_numpy()[mask > 0].tolist() == pytest.approx(logprobs)
    metrics = compute_trajectory_metrics([group], [asked.logging_tags()])
    assert metrics["env/all/end/submit"] == metrics["env/all/level/own-tests"] == metrics["env/all/pass_rate"] == 1.0
    assert metrics["env/all/end/answer"] == 0.0


async def played(env: EpisodeEnv, turns: Sequence[str], tokenizer: object) -> tuple[float, Episode]:
    await env.initial_observation()
    for turn in turns:
        tokens = tokenizer.encode(turn, add_special_tokens=False)  # type: ignore[attr-defined]
        result = await env.step(tokens, extra={"stop_reason": "stop"})
        if result.episode_done:
            return result.reward, env.episode
    raise AssertionError("the episode goes on")


async def test_a_record_has_every_turn_and_joins_to_the_conversation(live: Grader, arbiter: Problem) -> None:
    asked = builder(arbiter, level=Level.FEEDBACK, tries=2)
    (env,) = await asked.make_envs()
    turns = [
        spoken("qwen", "execute_bash", writes(arbiter, "module fixed_priority_arbiter; endmodule\n")),
        spoken("qwen", "submit", "{}"),
        "That is all I can do.<|im_end|>",
    ]
    reward, episode = await played(env, turns, asked.renderer.tokenizer)
    await asked.cleanup()
    assert reward == episode.reward == pytest.approx(WRONG)
    assert (episode.level, episode.end_reason, len(episode.turns)) == ("feedback", "answer", 3)
    assert episode.turns[0].calls[0]["name"] == "execute_bash"
    assert "interface differs" in episode.turns[1].observation
    kept = episode.with_logprobs([-0.1] * len(episode.sampled_tokens))
    assert [len(turn.sampled_logprobs) for turn in kept.turns] == [len(turn.sampled_tokens) for turn in kept.turns]
    joined = list(episode.prompt_tokens)
    for turn in episode.turns:
        joined += [*turn.sampled_tokens, *turn.observation_tokens]
    text = str(asked.renderer.tokenizer.decode(joined))
    assert text.count("<tool_response>") == 2
    assert text.endswith("That is all I can do.<|im_end|>")


async def test_records_of_before_still_load() -> None:
    old = {
        "problem_id": "p", "family": "f", "messages": [{"role": "user", "content": "x"}], "prompt_tokens": [1],
        "sampled_tokens": [2], "text": "t", "stop_reason": "stop", "grade": {}, "reward": 0.5, "reward_parts": {},
        "diagnostics": [], "sampled_logprobs": [-1.0],
    }  # fmt: skip
    episode = Episode.from_json(old)
    assert (episode.turns, episode.level, episode.end_reason, episode.is_scored) == ((), "", "", True)


async def test_it_ends_when_the_next_turn_would_not_fit(live: Grader, arbiter: Problem) -> None:
    asked = builder(arbiter, episode_tokens=1_200, max_tokens=100)
    (env,) = await asked.make_envs()
    turn = spoken("qwen", "execute_bash", '{"command": "seq 2000"}')
    reward, episode = await played(env, [turn] * 3, asked.renderer.tokenizer)
    assert (reward, episode.end_reason) == (0.0, "max_tokens")
    assert len(episode.prompt_tokens) + len(episode.sampled_tokens) < 1_200
    await asked.cleanup()


async def test_cleanup_ends_every_sandbox_even_of_cancelled_episodes(live: Grader, arbiter: Problem) -> None:
    boxes = len(named("bwrap", os.getpid()))
    asked = builder(arbiter, 3)
    envs = await asked.make_envs()
    sleep = asked.renderer.tokenizer.encode(spoken("qwen", "execute_bash", '{"command": "sleep 60"}'))
    look = asked.renderer.tokenizer.encode(spoken("qwen", "execute_bash", '{"command": "ls"}'))
    await envs[0].initial_observation()
    await envs[0].step(look, extra={"stop_reason": "stop"})  # open, and between two turns
    tasks = [asyncio.ensure_future(env.step(sleep, extra={"stop_reason": "stop"})) for env in envs[1:]]
    await asyncio.sleep(0.5)
    tasks[0].cancel()
    await asked.cleanup()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert isinstance(results[1], EpisodeFailed)
    assert len(named("bwrap", os.getpid())) <= boxes
    await asked.cleanup()


async def test_a_builder_is_data(live: Grader, arbiter: Problem) -> None:
    asked = builder(arbiter, 2)
    await asked.make_envs()
    assert pickle.loads(pickle.dumps(asked)) == asked
    await asked.cleanup()
    short = replace(asked, config=replace(asked.config, max_prompt_tokens=50))
    kept, left_out = fitting([arbiter], lambda problem: replace(short, problem=problem))
    assert (kept, len(left_out)) == ([], 1)
    (env,) = await replace(short, group_size=1).make_envs()
    with pytest.raises(EpisodeFailed, match="50 are allowed"):
        await env.initial_observation()

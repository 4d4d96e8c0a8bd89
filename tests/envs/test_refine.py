"""Refinement with the real grader: rounds, what the model is shown between them, and which round counts."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
import tinker

from rtl_agent.envs.env import ProblemGroupBuilder, live_grader
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import REFINE, EpisodeConfig
from rtl_agent.envs.refine import RefineSession
from rtl_agent.envs.session import Turn
from rtl_agent.grading import Grader
from rtl_agent.problems import Needs, Problem
from rtl_agent.runs.episode import Episode

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        with live_grader(grader):
            yield grader


@pytest.fixture
def counter(bundled: dict[str, Problem]) -> Problem:
    return bundled["rtl_gray_counter_0001"]


def reply(code: str) -> str:
    return f"```systemverilog\n{code}```\n"


def right(problem: Problem) -> str:
    assert problem.reference is not None
    return reply(problem.reference[problem.targets[0]])


BROKEN = reply("module gray_counter(input clk; endmodule\n")
EMPTY = reply("module gray_counter; endmodule\n")


async def played(
    problem: Problem, answers: Sequence[str], **rules: Any
) -> tuple[float, dict[str, float], Episode, str]:
    """Reward, metrics, record, and the conversation as text."""
    config = EpisodeConfig(REFINE, system="default", **rules)
    builder = ProblemGroupBuilder(problem, 1, "rtl-agent/student", "rtl_agent", config)
    (env,) = await builder.make_envs()
    observation, stop = await env.initial_observation()
    tokenizer = builder.renderer.tokenizer
    for answer in answers:
        before = observation.to_ints()
        sampled = [*tokenizer.encode(answer), *stop]
        result = await env.step(sampled, extra={"stop_reason": "stop"})
        if result.episode_done:
            return result.reward, dict(result.metrics), env.episode, str(tokenizer.decode([*before, *sampled]))
        observation = result.next_observation
        assert isinstance(observation, tinker.ModelInput)
        assert observation.to_ints()[: len(before) + len(sampled)] == [*before, *sampled], "only ever extended"
    raise AssertionError("the episode goes on")


async def test_an_answer_is_mended_after_it_was_told_what_is_wrong(live: Grader, counter: Problem) -> None:
    reward, metrics, episode, text = await played(counter, [BROKEN, right(counter)])
    assert reward == 1.4
    assert "It does not compile." in text
    assert "rtl/gray_counter.sv:1: error" in text
    assert not any(word in text for word in ("/src", "/code", "Traceback", ".py"))
    assert (metrics["refine/round_0_reward"], metrics["refine/round_1_reward"]) == (pytest.approx(0.1), 1.4)
    assert metrics["refine/round_2_reward"] == 1.4, "who is done keeps what it has"
    assert metrics["refine/round_1_gain"] == pytest.approx(1.3)
    assert (metrics["refine/improved"], metrics["refine/rounds"], metrics["end/passed"]) == (1.0, 1, 1.0)
    assert (episode.end_reason, episode.level, len(episode.turns)) == ("passed", "feedback", 2)
    assert [turn.reward for turn in episode.turns] == [pytest.approx(0.1), 1.4]
    assert episode.text.strip() == right(counter).strip()
    assert Episode.from_json(json.loads(json.dumps(episode.to_json()))) == episode


async def test_the_best_round_or_the_last_one_counts(live: Grader, counter: Problem) -> None:
    answers = [EMPTY, BROKEN]
    last, metrics, _, _ = await played(counter, answers, rounds=1, refine_reward="last")
    assert last == pytest.approx(0.1)
    assert metrics["refine/improved"] == 0.0
    assert metrics["end/max_rounds"] == 1.0
    best, metrics, episode, _ = await played(counter, answers, rounds=1, refine_reward="best")
    assert best == episode.reward == pytest.approx(0.4)
    assert metrics["refine/round_1_reward"] == pytest.approx(0.4)
    assert metrics["refine/round_1_gain"] == 0.0
    assert "module gray_counter;" in episode.text


async def test_a_right_answer_needs_no_round_and_without_rounds_it_is_single_shot(
    live: Grader, counter: Problem
) -> None:
    reward, metrics, episode, _ = await played(counter, [right(counter)])
    assert (reward, metrics["refine/rounds"], metrics["refine/improved"], len(episode.turns)) == (1.4, 0, 0.0, 1)
    reward, metrics, _, _ = await played(counter, ["I would rather not."], rounds=0)
    assert (reward, metrics["end/max_rounds"]) == (0.0, 1.0)
    assert "refine/round_1_reward" not in metrics


async def test_it_ends_when_another_answer_would_not_fit(live: Grader, counter: Problem) -> None:
    _, metrics, episode, _ = await played(counter, [BROKEN, BROKEN], episode_tokens=1_500, max_tokens=120)
    assert (metrics["end/max_tokens"], episode.end_reason, episode.turns[0].observation) == (1.0, "max_tokens", "")


async def test_what_is_too_long_to_be_shown_is_cut_at_a_line_and_said(live: Grader, counter: Problem) -> None:
    _, _, episode, _ = await played(counter, [BROKEN, BROKEN], rounds=1, feedback_characters=60)
    shown = episode.turns[0].observation
    assert "It does not compile.\n" in shown
    assert "characters are left out ...]" in shown
    assert "rtl/gray_counter.sv:1" not in shown, "no half of a line"


async def test_a_fault_of_ours_is_no_reward(live: Grader, counter: Problem) -> None:
    config = EpisodeConfig(REFINE, level="feedback")
    session = RefineSession(replace(counter, needs=Needs.COMMERCIAL), config, (), live)
    with pytest.raises(EpisodeFailed, match="needs Cadence"):
        await session.take(Turn(BROKEN))


async def test_the_conversation_has_every_turn_in_its_parts_and_what_was_shown(live: Grader, counter: Problem) -> None:
    builder = ProblemGroupBuilder(counter, 1, "rtl-agent/student", "rtl_agent", EpisodeConfig(REFINE, system="default"))
    (env,) = await builder.make_envs()
    observation, stop = await env.initial_observation()
    encode = builder.renderer.tokenizer.encode
    asked = env.conversation
    assert (asked.messages, asked.turns, asked.tokens) == (builder.prompt().messages, (), tuple(observation.to_ints()))
    first = await env.step([*encode(BROKEN), *stop], extra={"stop_reason": "stop"})
    await env.step(encode(right(counter)), extra={"stop_reason": "length"})
    said = env.conversation
    assert [[part.text.decode() for part in turn.written.parts] for turn in said.turns] == [[BROKEN], [right(counter)]]
    assert [turn.cut_off for turn in said.turns] == [False, True]
    assert [turn.written.end is None for turn in said.turns] == [False, True]
    (shown,) = said.turns[0].results
    assert "It does not compile." in shown.text
    assert said.tokens == (*first.next_observation.to_ints(), *encode(right(counter)))

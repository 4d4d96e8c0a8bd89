"""Episodes whose conversation is led elsewhere: the rules are those of every other episode."""

import pytest

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.hosted import OVER, HostedEpisode, first_messages, playable
from rtl_agent.envs.session import ToolCall, Turn
from rtl_agent.grading import Grader, Outcome
from rtl_agent.problems import NoSuchProblems, Problem

ARBITER = "rtl_fixed_priority_arbiter_0002"


def reply(problem: Problem) -> str:
    (text,) = (problem.reference or {}).values()
    return f"```systemverilog\n{text}\n```"


async def test_a_refine_episode_is_told_what_was_wrong(grader: Grader, bundled: dict[str, Problem]) -> None:
    episode = HostedEpisode(bundled[ARBITER], EpisodeConfig(kind="refine", rounds=2), grader)
    told = await episode.answer("no code")
    assert not episode.over
    assert told
    assert await episode.answer(reply(bundled[ARBITER])) == ""
    assert episode.over
    assert (episode.reward, episode.metrics["refine/rounds"]) == (1.4, 1)
    assert episode.record.end_reason == "passed"


async def test_the_calls_of_a_turn_are_answered_in_their_order(grader: Grader, bundled: dict[str, Problem]) -> None:
    episode = HostedEpisode(bundled[ARBITER], EpisodeConfig(kind="agentic", max_turns=2), grader)
    try:
        calls = tuple(ToolCall("execute_bash", {"command": f"echo {number}"}) for number in (1, 2))
        shown = await episode.take(Turn("Let me see.", calls=calls))
        assert [result.text for result in shown.results] == ["1\n[exit code 0]", "2\n[exit code 0]"]
        assert "no tool" in await episode.call("rm_rf", {})
        assert episode.over  # by max_turns
        assert await episode.call("execute_bash", {"command": "echo 3"}) == OVER
    finally:
        await episode.close()
    assert (episode.turns, episode.grade.outcome, episode.reward) == (2, Outcome.INVALID, 0.0)


@pytest.mark.parametrize("kind", ["refine", "agentic"])
async def test_what_stands_is_graded_where_a_framework_stops(
    kind: str, grader: Grader, bundled: dict[str, Problem]
) -> None:
    episode = HostedEpisode(bundled[ARBITER], EpisodeConfig(kind=kind), grader)
    try:
        await episode.take(Turn("no code", fault="" if kind == "refine" else "a call that cannot be read"))
        await episode.stop()
        await episode.stop()
    finally:
        await episode.close()
    assert (episode.over, episode.record.end_reason, episode.reward) == (True, "max_tokens", 0.0)


def test_what_is_asked_first_is_what_every_model_is_asked(bundled: dict[str, Problem]) -> None:
    system, user = first_messages(bundled[ARBITER], EpisodeConfig())
    assert (system.role, user.role) == ("system", "user")
    assert bundled[ARBITER].prompt.strip() in user.content


def test_a_source_without_a_problem_for_these_rules_says_why() -> None:
    with pytest.raises(NoSuchProblems, match=r"env=single.*it is agentic"):
        playable("generated-workspaces:mux,count=1", EpisodeConfig())

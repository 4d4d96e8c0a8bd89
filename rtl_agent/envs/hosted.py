"""Episodes whose conversation is led by another framework: it hands in calls and answers, and is told results.

Needs neither torch nor tinker.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import kind_of, resolved, why_unplayable
from rtl_agent.envs.session import Reply, ToolCall, ToolResult, ToolSpec, Turn
from rtl_agent.grading import Grade, Grader, GraderOptions
from rtl_agent.problems import NoSuchProblems, Problem, load_problems
from rtl_agent.prompts import Message
from rtl_agent.runs.episode import Episode

OVER = "[not run: the task is over]"


def playable(source: str, config: EpisodeConfig, *, limit: int = 0) -> list[Problem]:
    """The problems of a source that can be asked so and graded with open tools. NoSuchProblems where there are none."""
    found = load_problems(source, count=limit)
    kept = [problem for problem in found if not why_unplayable(problem, config)]
    if not kept:
        first = f"{found[0].id}: {why_unplayable(found[0], config)}"
        raise NoSuchProblems(f"{source} has no problem for env={config.kind} that can be graded here ({first})")
    return kept[: limit or None]


def first_messages(problem: Problem, config: EpisodeConfig) -> Sequence[Message]:
    """What a model is asked first."""
    rules = resolved(config)
    return tuple(kind_of(config).messages(problem, rules, max_prompt_tokens=rules.max_prompt_tokens or None))


def grader_options(config: EpisodeConfig, *, reward: str, jobs: int, executor: str) -> GraderOptions:
    """How the answers of such episodes are graded."""
    return GraderOptions(reward, jobs, executor, config.timeout_seconds, config.extraction)


class HostedEpisode:
    """One episode, by the same rules as every other. Each call counts as a turn.

    EpisodeFailed, from any method, says that the episode could not be played or judged. That is no fault of the model,
    and must not become a reward of 0.

    Args:
        problem: what is asked.
        config: the rules.
        grader: judges the answer; of any event loop, where it is `SyncGrader.grader`.
    """

    def __init__(self, problem: Problem, config: EpisodeConfig, grader: Grader) -> None:
        kind, rules = kind_of(config), resolved(config)
        self.problem, self.rules = problem, rules
        self.messages = first_messages(problem, config)
        self.tools: Sequence[ToolSpec] = tuple(kind.tools(rules))
        self._session = kind.session(problem, rules, grader, self.messages)
        self._one_at_a_time = asyncio.Lock()  # frameworks run the calls of one turn at once
        self._turns, self._over = 0, False

    @property
    def over(self) -> bool:
        return self._over

    @property
    def turns(self) -> int:
        return self._turns

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What the model is shown for a tool call."""
        return shown(await self.take(Turn("", calls=(ToolCall(name, arguments),))))

    async def answer(self, text: str) -> str:
        """The model's words without a tool call: they end the episode; or else, what the model is shown next."""
        return shown(await self.take(Turn(text)))

    async def take(self, turn: Turn, *, cut_off: bool = False) -> Reply:
        """A whole turn, for a framework that has it."""
        async with self._one_at_a_time:
            if self._over:
                return Reply((ToolResult("", OVER),))
            self._turns += 1
            reply = await self._session.take(turn, cut_off=cut_off)
            self._over = reply.ended is not None
            return reply

    async def stop(self) -> None:
        """There are no more turns, after the first: what stands is graded."""
        async with self._one_at_a_time:
            if not self._over:
                await self._session.out_of_tokens()
                self._over = True

    async def close(self) -> None:
        """Gives back what the episode holds. May be called at any time, and again."""
        await self._session.close()

    # of an episode that is over

    @property
    def grade(self) -> Grade:
        return self._session.grade

    @property
    def reward(self) -> float:
        return self._session.reward

    @property
    def metrics(self) -> dict[str, float | int]:
        return self._session.metrics

    @property
    def record(self) -> Episode:
        """As `eval` keeps it."""
        return self._session.episode()


def shown(reply: Reply) -> str:
    """The results as one text."""
    return "\n\n".join(result.text for result in reply.results)

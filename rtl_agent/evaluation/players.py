"""Play one episode of a problem with a model: single-shot now, by tokens or by text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.rl.types import Env, InitialObservationOverflow

from rtl_agent.envs import Episode, EpisodeFailed, SingleShotGroupBuilder
from rtl_agent.evaluation.models import TextModel, TokenModel
from rtl_agent.grading import CannotGrade, Grade, Grader, Outcome
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, messages
from rtl_agent.training.seeds import seed_of


class Watcher(Protocol):
    """Is told of an episode while it is played."""

    def asked(self, messages: tuple[Message, ...]) -> None: ...

    def said(self, text: str) -> None: ...

    def saw(self, text: str) -> None: ...


class Unwatched:
    def asked(self, messages: tuple[Message, ...]) -> None: ...

    def said(self, text: str) -> None: ...

    def saw(self, text: str) -> None: ...


@dataclass(frozen=True)
class Played:
    episode: Episode
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled."""

    temperature: float
    max_tokens: int


class Player(Protocol):
    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        """One episode. EpisodeFailed where it came to no end that can be judged."""
        ...


@dataclass(frozen=True)
class TokenPlayer:
    """Any environment of ours, over a sampling client."""

    model: TokenModel
    sampling: Sampling

    def builder(self, problem: Problem) -> SingleShotGroupBuilder:
        return SingleShotGroupBuilder(
            problem=problem,
            group_size=1,
            model_name=self.model.base,
            renderer_name=self.model.renderer,
            system=self.model.system,
            max_prompt_tokens=self.model.context - self.sampling.max_tokens,
        )

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        builder = self.builder(problem)
        (env,) = await builder.make_envs()
        try:
            first = await env.initial_observation()
            if isinstance(first, InitialObservationOverflow):
                raise EpisodeFailed(f"{problem.id}: the prompt is longer than the model's context")
            watcher.asked(tuple(builder.prompt().messages))
            usage = await self._turns(env, *first, seed, watcher)
            return Played(env.episode, usage)
        finally:
            await builder.cleanup()

    async def _turns(
        self, env: Env, observation: tinker.ModelInput, stop: StopCondition, seed: int, watcher: Watcher
    ) -> dict[str, int]:
        usage = {"prompt": observation.length, "answer": 0}
        turn = 0
        while True:
            sampled = await self._sample(observation, stop, seed_of(seed, turn))
            usage["answer"] += len(sampled.tokens)
            watcher.said(self._text(sampled.tokens))
            result = await env.step(list(sampled.tokens), extra={"stop_reason": sampled.stop_reason})
            if result.episode_done:
                return usage
            known = [*observation.to_ints(), *sampled.tokens]
            observation, stop = result.next_observation, result.next_stop_condition
            watcher.saw(self._text(observation.to_ints()[len(known) :]))
            turn += 1

    async def _sample(self, prompt: tinker.ModelInput, stop: StopCondition, seed: int) -> tinker.SampledSequence:
        room = self.model.context - prompt.length
        params = tinker.SamplingParams(
            max_tokens=min(self.sampling.max_tokens, room), temperature=self.sampling.temperature, stop=stop, seed=seed
        )
        try:
            answer = await self.model.client.sample_async(prompt=prompt, num_samples=1, sampling_params=params)
        except tinker.APIConnectionError:
            raise
        except tinker.TinkerError as error:
            raise EpisodeFailed(f"the server refused: {error}") from error
        return answer.sequences[0]

    def _text(self, tokens: list[int]) -> str:
        from rtl_agent.envs import tokenizer_for

        return str(tokenizer_for(self.model.base).decode(list(tokens)))


@dataclass(frozen=True)
class SingleTextPlayer:
    """One question, one answer, over an OpenAI-compatible endpoint."""

    model: TextModel
    sampling: Sampling
    grader: Grader

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        asked = tuple(messages(problem, system=self.model.system))
        watcher.asked(asked)
        reply = await self.model.endpoint.ask(
            asked, temperature=self.sampling.temperature, max_tokens=self.sampling.max_tokens, seed=seed
        )
        watcher.said(reply.text)
        grade = await graded(self.grader, problem, reply.text)
        return Played(text_episode(problem, asked, reply.text, reply.stop_reason, grade), reply.usage)


async def graded(grader: Grader, problem: Problem, text: str) -> Grade:
    """A grade that says something of the answer: an error is our own fault, and no grade."""
    try:
        grade = await grader.grade_reply(problem, text)
    except CannotGrade as error:
        raise EpisodeFailed(str(error)) from error
    if grade.outcome is Outcome.ERROR:
        raise EpisodeFailed(f"{problem.id} could not be graded: {'; '.join(grade.reasons)}")
    return grade


def text_episode(problem: Problem, asked: tuple[Message, ...], text: str, stop_reason: str, grade: Grade) -> Episode:
    """The record of an episode whose tokens nobody knows."""
    found = (f"{one.file}:{one.line}: {one.severity}: {one.text} ({one.tool})" for one in grade.diagnostics[:40])
    return Episode(
        problem_id=problem.id,
        family=problem.family,
        messages=asked,
        prompt_tokens=(),
        sampled_tokens=(),
        text=text,
        stop_reason=stop_reason,
        grade=json.loads(json.dumps(grade.to_json())),
        reward=grade.reward.total,
        reward_parts=dict(grade.reward.parts),
        diagnostics=(*grade.reasons, *found),
    )

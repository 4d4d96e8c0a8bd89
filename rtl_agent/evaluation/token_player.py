"""A model asked by tokens plays any environment of ours: what it sampled is what the environment gets."""

from dataclasses import dataclass

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.rl.types import InitialObservationOverflow

from rtl_agent.envs.env import EpisodeEnv, ProblemGroupBuilder
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.envs.agentic.builder import AgenticGroupBuilder
from rtl_agent.envs.agentic.env import AgenticEnv
from rtl_agent.envs.refine import RefineEnv, RefineGroupBuilder
from rtl_agent.evaluation.models import TokenModel
from rtl_agent.evaluation.players import Played, Sampling, Watcher
from rtl_agent.evaluation.rules import AGENTIC, REFINE, Rules
from rtl_agent.problems import Problem
from rtl_agent.training.seeds import seed_of

OurEnv = EpisodeEnv | RefineEnv | AgenticEnv
Builder = ProblemGroupBuilder | RefineGroupBuilder | AgenticGroupBuilder


@dataclass(frozen=True)
class TokenPlayer:
    """Over a sampling client."""

    model: TokenModel
    sampling: Sampling
    rules: Rules

    def builder(self, problem: Problem) -> Builder:
        model = self.model
        most = self._budget - self.sampling.max_tokens
        words = (problem, 1, model.base, model.renderer, model.system, most)
        if self.rules.env == REFINE:
            return RefineGroupBuilder(*words, config=self.rules.refine(model.context))
        if self.rules.env == AGENTIC:
            return AgenticGroupBuilder(*words, config=self.rules.agentic(model.context))
        return ProblemGroupBuilder(*words)

    @property
    def _budget(self) -> int:
        """Most tokens of prompts and answers together."""
        return self.rules.budget(self.model.context) or self.model.context

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        builder = self.builder(problem)
        try:
            env: OurEnv
            (env,) = await builder.make_envs()
            first = await env.initial_observation()
            if isinstance(first, InitialObservationOverflow):
                raise EpisodeFailed(f"{problem.id}: the prompt is longer than the model's context")
            watcher.asked(tuple(builder.prompt().messages))
            usage = await self._turns(env, *first, seed, watcher)
            return Played(env.episode, usage)
        finally:
            await builder.cleanup()

    async def _turns(
        self, env: OurEnv, observation: tinker.ModelInput, stop: StopCondition, seed: int, watcher: Watcher
    ) -> dict[str, int]:
        usage = {"prompt": 0, "answer": 0}
        turn = 0
        while True:
            sampled = await self._sample(observation, stop, seed_of(seed, turn))
            usage["prompt"] += observation.length
            usage["answer"] += len(sampled.tokens)
            watcher.said(self._text(sampled.tokens))
            result = await env.step(list(sampled.tokens), extra={"stop_reason": sampled.stop_reason})
            if result.episode_done:
                watcher.over(env.episode.turns[-1].observation if env.episode.turns else "")
                return usage
            known = observation.length + len(sampled.tokens)
            observation, stop = result.next_observation, result.next_stop_condition
            watcher.saw(self._text(observation.to_ints()[known:]))
            turn += 1

    async def _sample(self, prompt: tinker.ModelInput, stop: StopCondition, seed: int) -> tinker.SampledSequence:
        room = self._budget - prompt.length
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
        """Raw, control tokens included: they are part of what was said."""
        return str(tokenizer_for(self.model.base).decode(list(tokens)))

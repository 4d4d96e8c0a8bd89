"""The one loop that plays an episode by tokens: training, its evaluations, `eval`, `play` and the Python API use it."""

import asyncio
import hashlib
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import tinker
from tinker_cookbook.completers import StopCondition, TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.types import InitialObservationOverflow, Trajectory, Transition

from rtl_agent.envs.conversation import Conversation
from rtl_agent.envs.env import EpisodeEnv
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.runs.episode import Episode

T = TypeVar("T")


def seed_of(*parts: object) -> int:
    """31 bits from a run's seed and whatever names one sample.

    Seeds depend on what is sampled and not on when: a run that was killed samples the same again.
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


async def gather_or_cancel(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in their order, or the first error once all have ended. `asyncio.gather` would leave them running."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


Spent = Callable[[int, int], None]  # is told the tokens of a prompt and of its answer


def _untimed(kind: str) -> AbstractContextManager[None]:
    return nullcontext()


def unmetered(prompt: int, answer: int) -> None:
    """Where nobody asks what an answer costs."""


def _unheard(tails: int) -> None: ...


@dataclass(frozen=True)
class Policy:
    """A model as it is sampled from: in one step of training, or in one evaluation."""

    client: tinker.SamplingClient
    max_tokens: int  # of one turn
    temperature: float
    seed: int
    during: Callable[[str], AbstractContextManager[None]] = _untimed  # around "sample" and "grade", to time them
    entropy_topk: int = 0  # of the likeliest tokens at each position, to record the entropy; 0: not recorded
    tail_tokens: int = 0  # an episode is asked for in requests of at most so many tokens; 0: a turn in one
    on_tail: Callable[[int], None] = _unheard  # an episode goes on after so many times `tail_tokens`
    spent: Spent = unmetered

    def completer(self, problem_id: str, index: int) -> "SeededCompleter":
        """The same for the same seed, problem and number of the sample, whoever asks."""
        return SeededCompleter(self, seed_of(self.seed, problem_id, index))


@dataclass
class SampledTokens(TokensWithLogprobs):
    """`entropy` in nats at each token; empty where the server was not asked for it, or did not tell."""

    entropy: list[float] = field(default_factory=list)


def entropy_of(top: Sequence[tuple[int, float]]) -> float:
    """Of a distribution of which the likeliest tokens are known, the others counted as one: a lower bound.

    What is missing is at most the others' share times the logarithm of their number.
    """
    shares = [math.exp(min(logprob, 0.0)) for _, logprob in top]
    shares.append(max(0.0, 1.0 - sum(shares)))
    return float(f"{sum(-share * math.log(share) for share in shares if share > 0):.4g}")


@dataclass
class SeededCompleter(TokenCompleter):
    """One episode's model: every turn has a seed of its own."""

    policy: Policy
    seed: int
    turn: int = 0
    sampled: int = 0  # tokens of all turns

    async def __call__(
        self, model_input: tinker.ModelInput, stop: StopCondition, *, max_tokens: int | None = None
    ) -> SampledTokens:
        """The tokens as sampled, never decoded and encoded again."""
        budget = min(self.policy.max_tokens, max_tokens or self.policy.max_tokens)
        seed = seed_of(self.seed, self.turn)
        self.turn += 1
        said = SampledTokens([], [])
        while True:
            room = self._room(budget - len(said.tokens), stop)
            prompt = tinker.ModelInput.from_ints([*model_input.to_ints(), *said.tokens]) if said.tokens else model_input
            more = await self._sample(prompt, stop, room, seed_of(seed, len(said.tokens)) if said.tokens else seed)
            said = SampledTokens(
                said.tokens + more.tokens,
                [*said.logprobs, *more.logprobs],
                more.stop_reason,
                said.entropy + more.entropy,
            )
            if more.stop_reason != "length" or len(more.tokens) < room or len(said.tokens) >= budget:
                return said

    def _room(self, budget: int, stop: StopCondition) -> int:
        """How much to ask for at once. A text that stops might lie across two requests, so its turn is one."""
        tail = self.policy.tail_tokens
        if not tail:
            return budget
        if tails := self.sampled // tail:
            self.policy.on_tail(tails)
        return min(budget, tail - self.sampled % tail) if all(isinstance(one, int) for one in stop) else budget

    async def _sample(
        self, prompt: tinker.ModelInput, stop: StopCondition, max_tokens: int, seed: int
    ) -> SampledTokens:
        policy = self.policy
        params = tinker.SamplingParams(max_tokens=max_tokens, temperature=policy.temperature, stop=stop, seed=seed)
        with policy.during("sample"):
            answer = await policy.client.sample_async(
                prompt=prompt,
                num_samples=1,
                sampling_params=params,
                topk_sample_logprobs=policy.entropy_topk,
            )
        one = answer.sequences[0]
        self.sampled += len(one.tokens)
        policy.spent(prompt.length, len(one.tokens))
        tops = (one.topk_logprobs or ()) if policy.entropy_topk else ()
        entropy = [entropy_of(top) for top in tops if top]
        return SampledTokens(list(one.tokens), list(one.logprobs or ()), one.stop_reason, entropy)


class TokenWatcher(Protocol):
    """Is told of an episode while it is played."""

    def sampled(self, tokens: list[int]) -> None: ...

    def shown(self, tokens: list[int]) -> None: ...


class _Unwatched:
    def sampled(self, tokens: list[int]) -> None: ...

    def shown(self, tokens: list[int]) -> None: ...


UNWATCHED = _Unwatched()


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode that is over, with the tokens of each turn as the trainer wants them."""

    episode: Episode
    trajectory: Trajectory
    said: Callable[[], Conversation]

    @cached_property
    def conversation(self) -> Conversation:
        """The messages, and each turn in its parts, for teachers that read other tokens."""
        return self.said()

    @property
    def usage(self) -> dict[str, int]:
        """Tokens of all prompts and of all answers."""
        turns = self.trajectory.transitions
        return {"prompt": sum(turn.ob.length for turn in turns), "answer": sum(len(turn.ac.tokens) for turn in turns)}


async def play_episode(env: EpisodeEnv, completer: SeededCompleter, watcher: TokenWatcher = UNWATCHED) -> PlayedEpisode:
    """From the first prompt to the end. EpisodeFailed where there is none that can be judged."""
    first = await env.initial_observation()
    if isinstance(first, InitialObservationOverflow):
        raise EpisodeFailed(f"{env.problem.id}: the prompt is longer than the model's context")
    observation, stop = first
    transitions: list[Transition] = []
    while True:
        action = await completer(observation, stop)
        watcher.sampled(action.tokens)
        with completer.policy.during("grade"):
            result = await env.step(action.tokens, extra={"stop_reason": action.stop_reason})
        transitions.append(
            Transition(observation, action, result.reward, result.episode_done, result.metrics, result.logs)
        )
        if result.episode_done:
            return PlayedEpisode(
                _as_sampled(env.episode, transitions),
                Trajectory(transitions, result.next_observation),
                lambda: env.conversation,
            )
        known = observation.length + len(action.tokens)
        observation, stop = result.next_observation, result.next_stop_condition
        watcher.shown(observation.to_ints()[known:])


def _as_sampled(episode: Episode, transitions: list[Transition]) -> Episode:
    """With what the server told of each token."""
    actions = [transition.ac for transition in transitions]
    logprobs = [logprob for action in actions for logprob in action.logprobs]
    entropy = [one for action in actions if isinstance(action, SampledTokens) for one in action.entropy]
    if logprobs:
        episode = episode.with_logprobs(logprobs)
    return replace(episode, entropy=tuple(entropy)) if len(entropy) == len(episode.sampled_tokens) else episode

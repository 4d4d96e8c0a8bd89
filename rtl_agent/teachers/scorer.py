"""Who scores tokens: any server that tells how likely a model finds a text that is given to it.

A scorer knows its own model's tokens and nothing of a student. `rtl_agent.teachers.teacher` makes advice of what it says.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import tinker

# The API has no request that only scores, so one token is sampled and thrown away.
_NOTHING = tinker.SamplingParams(max_tokens=1, temperature=1.0, seed=0)


@dataclass(frozen=True)
class TopK:
    """The likeliest tokens at one position, with their logprobs."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]

    def shares(self) -> list[float]:
        """Probabilities among these tokens alone: they add up to 1."""
        most = max(self.logprobs)
        weights = [math.exp(logprob - most) for logprob in self.logprobs]
        total = sum(weights)
        return [weight / total for weight in weights]


@dataclass(frozen=True)
class Scores:
    """What a model thinks of one sequence, a value for each token. None: it did not say."""

    logprobs: tuple[float | None, ...]  # the first token has nothing before it: None
    top: tuple[TopK | None, ...] = ()  # empty unless asked for


class ScoringError(RuntimeError):
    """A server gave no scores, or none that can be used. Says which server said what."""


class Scorer(Protocol):
    """A model on a server."""

    @property
    def name(self) -> str:
        """The model, and where it is, for messages."""
        ...

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        """As many values as tokens. Those before position `first` are not needed: a server may leave them out."""
        ...


@dataclass(frozen=True)
class TinkerScorer:
    """On any server that speaks Tinker's API."""

    client: tinker.SamplingClient
    name: str

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        prompt = tinker.ModelInput.from_ints(list(tokens))
        if not topk:
            return Scores(tuple(_number(one) for one in await self.client.compute_logprobs_async(prompt)))
        answer = await self.client.sample_async(
            prompt, num_samples=1, sampling_params=_NOTHING, include_prompt_logprobs=True, topk_prompt_logprobs=topk
        )
        logprobs, top = answer.prompt_logprobs, answer.topk_prompt_logprobs
        if logprobs is None or top is None:
            raise ScoringError(f"{self.name} gave no logprobs of its likeliest tokens: forward_kl_coef needs them")
        return Scores(tuple(map(_number, logprobs)), tuple(map(_top_k, top)))


def _number(logprob: float | None) -> float | None:
    return None if logprob is None else float(logprob)


def _top_k(pairs: Sequence[tuple[int, float]] | None) -> TopK | None:
    if not pairs:
        return None
    return TopK(tuple(int(token) for token, _ in pairs), tuple(float(logprob) for _, logprob in pairs))

"""Who scores tokens: any server that tells how likely a model finds a text that is given to it.

A scorer knows its own model's tokens and nothing of a student; `rtl_agent.teachers.teacher` makes advice of its scores.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import tinker

# The API has no request that only scores, so one token is sampled and thrown away.
_NOTHING = tinker.SamplingParams(max_tokens=1, temperature=1.0, seed=0)
_REFUSED = (tinker.BadRequestError, tinker.UnprocessableEntityError, tinker.RequestFailedError)
# How servers say it: "maximum context length is 8192 tokens", "exceed the context of x", "longer than the model takes".
ROUNDING = 1e-3  # nats above 0 that are a server's rounding and nothing else
TOO_LONG = re.compile(r"context (length|size|of)\b|context_length|longer than|too long|max_model_len", re.I)


@dataclass(frozen=True)
class TopK:
    """The likeliest tokens at one position, with their logprobs."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    mass: float = 1.0  # what their shares add up to: less where others were left out that should have their own

    def shares(self) -> list[float]:
        """Probabilities among these tokens alone."""
        most = max(self.logprobs)
        weights = [math.exp(logprob - most) for logprob in self.logprobs]
        total = sum(weights)
        return [weight / total * self.mass for weight in weights]


@dataclass(frozen=True)
class Scores:
    """What a model thinks of one sequence, a value for each token. None: it did not say."""

    logprobs: tuple[float | None, ...]  # the first token has nothing before it: None
    top: tuple[TopK | None, ...] = ()  # empty unless asked for


class ScoringError(RuntimeError):
    """A server gave no scores, or none that can be used. Says which server said what."""


class TooLong(ScoringError):
    """A sequence is longer than the server takes. Others may do."""


class Unreachable(ScoringError):
    """The server did not answer, or not now. The same request may be answered after a pause, in seconds."""

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


def checked(scores: Scores, count: int, topk: int, first: int, name: str, *, complete: bool = True) -> Scores:
    """Rounded to at most 0. ScoringError where a value is missing, or is none that a logprob can have.

    Not `complete`: values may be missing, as long as there are any.
    """
    if len(scores.logprobs) != count:
        raise ScoringError(f"{name} gave {len(scores.logprobs)} logprobs for {count} tokens")
    if topk and len(scores.top) != count:
        raise ScoringError(f"{name} gave likeliest tokens at {len(scores.top)} of {count} positions")
    needed = scores.logprobs[max(first, 1) :]
    if not complete and needed and all(logprob is None for logprob in needed):
        raise ScoringError(f"{name} gave no logprob at any of {len(needed)} positions")
    for at, logprob in enumerate(scores.logprobs):
        if logprob is None:
            if complete and at >= max(first, 1):
                raise ScoringError(f"{name} gave no logprob at position {at} of {count}")
        elif math.isnan(logprob) or logprob > ROUNDING:
            raise ScoringError(f"{name} gave the logprob {logprob} at position {at}: that is not a probability")
    for at, row in enumerate(scores.top):
        if row is None:
            if complete and topk and at >= max(first, 1):
                raise ScoringError(
                    f"{name} left out its likeliest tokens at position {at}: forward_kl_coef and teachers with another "
                    "tokenizer need them"
                )
        elif any(not one <= ROUNDING for one in row.logprobs) or not any(one > -math.inf for one in row.logprobs):
            raise ScoringError(f"{name} gave its likeliest tokens at position {at} logprobs that are no probabilities")
    return Scores(tuple(one if one is None else min(one, 0.0) for one in scores.logprobs), scores.top)


class Scorer(Protocol):
    """A model on a server."""

    @property
    def name(self) -> str:
        """The model, and where it is, for messages."""
        ...

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        """As many values as tokens. Those before position `first` are not needed: a server may leave them out."""
        ...


@dataclass
class TinkerScorer:
    """On any server that speaks Tinker's API. Scores only the end of a sequence where the server can."""

    client: tinker.SamplingClient
    name: str
    _whole: bool = False  # the server does not know prompt_logprobs_last_n

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        scores = await self._score(tokens, topk, first)
        return checked(scores, len(tokens), topk, first, self.name, complete=False)  # the API may leave some out

    async def _score(self, tokens: Sequence[int], topk: int, first: int) -> Scores:
        prompt = tinker.ModelInput.from_ints(list(tokens))
        last = len(tokens) - max(first, 1)
        try:
            if first > 1 and last > 0 and not self._whole:
                try:
                    return await self._ask(prompt, topk, last)
                except _REFUSED as error:
                    if "last_n" not in str(error):
                        raise
                    self._whole = True
            return await self._ask(prompt, topk, None)
        except (tinker.APIConnectionError, tinker.InternalServerError, tinker.RateLimitError) as error:
            raise Unreachable(f"{self.name}: {error}") from error
        except _REFUSED as error:
            if TOO_LONG.search(str(error)):
                raise TooLong(f"{self.name}: {error}") from error
            raise

    async def _ask(self, prompt: tinker.ModelInput, topk: int, last: int | None) -> Scores:
        if not topk:
            found = await self.client.compute_logprobs_async(prompt, prompt_logprobs_last_n=last)
            if found is None:  # whatever the SDK's types say
                raise ScoringError(f"{self.name} gave no logprobs of a prompt, so it cannot advise")
            return Scores(_at_the_end([_number(one) for one in found], prompt.length))
        answer = await self.client.sample_async(
            prompt,
            num_samples=1,
            sampling_params=_NOTHING,
            include_prompt_logprobs=True,
            topk_prompt_logprobs=topk,
            prompt_logprobs_last_n=last,
        )
        logprobs, top = answer.prompt_logprobs, answer.topk_prompt_logprobs
        if logprobs is None or top is None:
            raise ScoringError(
                f"{self.name} gave no logprobs of its likeliest tokens: forward_kl_coef and teachers with another "
                "tokenizer need them"
            )
        return Scores(
            _at_the_end([_number(one) for one in logprobs], prompt.length),
            _at_the_end([_top_k(row) for row in top], prompt.length),
        )


T = TypeVar("T")


def _at_the_end(found: Sequence[T | None], length: int) -> tuple[T | None, ...]:
    """A server may give the values of the end alone, or all of them with none before the end."""
    return (*[None] * (length - len(found)), *found)


def _number(logprob: float | None) -> float | None:
    return None if logprob is None or math.isnan(logprob) else float(logprob)


def _top_k(pairs: Sequence[tuple[int, float]] | None) -> TopK | None:
    if not pairs:
        return None
    return TopK(tuple(int(token) for token, _ in pairs), tuple(float(logprob) for _, logprob in pairs))

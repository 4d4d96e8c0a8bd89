"""What a teacher is, and the usual one: any sampling client, asked how likely it finds the student's own tokens.

A package adds a kind of teacher with an entry point of the group `rtl_agent.teachers`: its object makes a `Teacher` of
a sampling client, the model's name and how many of its likeliest tokens are wanted. `rtl_agent.teachers.checks` holds
it against the contract.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import tinker

from rtl_agent.registry import Registry

# The API has no request that only scores, so one token is sampled and thrown away.
_NOTHING = tinker.SamplingParams(max_tokens=1, temperature=1.0, seed=0)


@dataclass(frozen=True)
class TopK:
    """The teacher's likeliest tokens at one position, with their logprobs."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]

    def shares(self) -> list[float]:
        """Probabilities among these tokens alone: they add up to 1."""
        most = max(self.logprobs)
        weights = [math.exp(logprob - most) for logprob in self.logprobs]
        total = sum(weights)
        return [weight / total for weight in weights]


@dataclass(frozen=True)
class Advice:
    """What a teacher thinks of one sequence, a token each; its first token has no logprob and counts as 0."""

    logprobs: tuple[float, ...]
    top: tuple[TopK | None, ...] = ()  # empty unless asked for; None where the teacher gave nothing


class Teacher(Protocol):
    """Advises on what a student wrote."""

    @property
    def name(self) -> str: ...

    async def advise(self, tokens: Sequence[int]) -> Advice:
        """Advice on a student's sequence, token for token: observation and action tokens alike."""
        ...


@dataclass(frozen=True)
class SameTokensTeacher:
    """A model with the student's vocabulary, which reads the sequence as it is."""

    client: tinker.SamplingClient
    name: str
    topk: int = 0  # how many of its likeliest tokens to tell at each position

    async def advise(self, tokens: Sequence[int]) -> Advice:
        """Advice on a student's sequence, token for token."""
        prompt = tinker.ModelInput.from_ints(list(tokens))
        if not self.topk:
            found = await self.client.compute_logprobs_async(prompt)
            return Advice(tuple(0.0 if one is None else float(one) for one in found))
        answer = await self.client.sample_async(
            prompt,
            num_samples=1,
            sampling_params=_NOTHING,
            include_prompt_logprobs=True,
            topk_prompt_logprobs=self.topk,
        )
        logprobs, top = answer.prompt_logprobs, answer.topk_prompt_logprobs
        if logprobs is None or top is None:
            raise ValueError(f"{self.name} gave no logprobs of its likeliest tokens: forward_kl_coef needs them")
        return Advice(
            tuple(0.0 if one is None else float(one) for one in logprobs),
            tuple(_top_k(pairs) for pairs in top),
        )


def _top_k(pairs: Sequence[tuple[int, float]] | None) -> TopK | None:
    if not pairs:
        return None
    return TopK(tuple(int(token) for token, _ in pairs), tuple(float(logprob) for _, logprob in pairs))


SAME_TOKENS = "same-tokens"
TEACHERS: Registry[Callable[[tinker.SamplingClient, str, int], Teacher]] = Registry(
    "kind of teacher", "rtl_agent.teachers", {SAME_TOKENS: SameTokensTeacher}
)

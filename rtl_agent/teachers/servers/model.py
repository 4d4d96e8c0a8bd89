"""One model on a server that is asked by tokens: what all kinds of server have in common."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from rtl_agent.teachers.scorer import ROUNDING, Scores, ScoringError, TooLong, TopK, Unreachable, checked
from rtl_agent.teachers.servers.endpoint import Endpoint

_IDS = 2**31  # token ids are below it


@dataclass(frozen=True)
class Asked:
    """How to sample. `stop` are tokens that end an answer."""

    max_tokens: int
    temperature: float = 1.0
    seed: int = 0
    stop: tuple[int, ...] = ()
    stop_texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sampled:
    """The token that ended the answer is its last one, as on Tinker."""

    tokens: tuple[int, ...]
    stopped: bool  # by a stop, and not by max_tokens


@dataclass(frozen=True)
class ServedModel(ABC):
    """A `Scorer`, and what else a teacher is asked for."""

    endpoint: Endpoint
    model: str
    context: int | None = None  # tokens that a sequence may have; None: the server does not say
    root: str = ""  # where the server has the model from: a folder or a name on the hub

    kind: ClassVar[str]
    suffix: ClassVar[bool] = False  # whether it saves work to score the end of a sequence only

    @property
    def name(self) -> str:
        return f"{self.model} on {self.kind} at {self.endpoint.shown_url}"

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        """As many values as tokens; the first has none, and those before `first` may have none."""
        if self.context is not None and len(tokens) + 1 > self.context:  # one token is sampled and thrown away
            raise TooLong(f"{self.name} takes {self.context - 1} tokens to score, and the text has {len(tokens)}")
        with self._reading_an_answer():
            scores = await self._score(list(tokens), topk, first)
        return checked(scores, len(tokens), topk, first, self.name)

    async def sample(self, prompt: Sequence[int], asked: Asked) -> Sampled:
        with self._reading_an_answer():
            found = await self._sample(list(prompt), asked)
        if unknown := [token for token in found.tokens if not 0 <= token < _IDS]:
            raise ScoringError(f"{self.name} sampled {unknown[0]}, which is not the number of a token")
        if found.stopped and asked.stop and (not found.tokens or found.tokens[-1] not in asked.stop):
            return Sampled((*found.tokens, asked.stop[0]), True)  # some servers keep the token that ends an answer
        return found

    async def encode(self, text: str) -> list[int] | None:
        """The server's own tokens of a text, without any before or after it; None where it does not tell."""
        try:
            with self._reading_an_answer():
                return await self._encode(text)
        except Unreachable:
            raise
        except ScoringError:  # older versions have no such path, and proxies keep it to themselves
            return None

    async def aclose(self) -> None:
        await self.endpoint.aclose()

    @abstractmethod
    async def _score(self, tokens: list[int], topk: int, first: int) -> Scores: ...

    @abstractmethod
    async def _sample(self, prompt: list[int], asked: Asked) -> Sampled: ...

    @abstractmethod
    async def _encode(self, text: str) -> list[int]: ...

    @contextmanager
    def _reading_an_answer(self) -> Iterator[None]:
        """An answer may be any JSON: what is not where it belongs is said of the server."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ScoringError(
                f"{self.name} gave an answer of another shape than {self.kind} gives ({type(error).__name__}: {error})"
            ) from error

    def without_scores(self, why: str) -> ScoringError:
        return ScoringError(
            f"{self.name} does not tell how likely it finds a prompt ({why}), so it cannot advise: use vLLM, SGLang, "
            "llama.cpp's own server, `rtl-agent serve` or a Tinker-compatible one"
        )


def top_k(pairs: Sequence[tuple[int, float]], k: int) -> TopK | None:
    """The likeliest first, no more than asked for: servers add the token that stands there."""
    likeliest = sorted(pairs, key=lambda pair: -math.inf if math.isnan(pair[1]) else -pair[1])[:k]
    values = (min(0.0, value) if value <= ROUNDING else value for _, value in likeliest)  # others are seen as faults
    return TopK(tuple(one for one, _ in likeliest), tuple(values)) if pairs else None


def first_choice(answer: Any, name: str) -> Mapping[str, Any]:
    """choices[0] of an answer in OpenAI's shape."""
    try:
        choice = answer["choices"][0]
    except (KeyError, IndexError, TypeError):
        choice = None
    if not isinstance(choice, Mapping):
        raise ScoringError(f"{name} gave an answer without choices: it is not an OpenAI-compatible server")
    return choice

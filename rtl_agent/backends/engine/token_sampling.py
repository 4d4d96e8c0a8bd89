"""Sampling the next token of every row from its logits, each row by its own options.

Random numbers are a function of (seed, position): what a sequence draws does not depend on who shares its batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from rtl_agent.backends.engine.contract import EngineError, SampledSequence, SampleRequest, StopReason

Words = NDArray[np.uint64]
Pairs = list[tuple[int, float]]

# Below it logits divided by a float32 temperature overflow; the distribution is a point long before.
GREEDY_BELOW = 1e-6

_STEP = np.uint64(0x9E3779B97F4A7C15)


def _mixed(words: Words) -> Words:
    """SplitMix64's finaliser: every bit of a word reaches every bit of the result."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def uniforms(seeds: Words, positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """One number in [0, 1) for each pair. 52 bits: then u * total < total holds in floating point too."""
    words = _mixed(_mixed(seeds + _STEP) + (positions.astype(np.uint64) + np.uint64(1)) * _STEP)
    return (words >> np.uint64(12)).astype(np.float64) * 2.0**-52


def seed_word(seed: int) -> int:
    return seed & 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class SampledTokens:
    """`logprobs` is of temperature 1 over the whole vocabulary, (rows, vocabulary)."""

    tokens: Tensor
    logprobs: Tensor


def check_sampling_options(request: SampleRequest) -> None:
    if not 0 <= request.temperature < float("inf"):
        raise EngineError(f"temperature is {request.temperature}; it should be 0 (greedy) or above.")
    if request.top_k != -1 and request.top_k < 1:
        raise EngineError(f"top_k is {request.top_k}; it should be -1 (off) or at least 1.")
    if not 0 < request.top_p <= 1:
        raise EngineError(f"top_p is {request.top_p}; it should be above 0 and at most 1 (off).")


class TokenSampler:
    """How each of a fixed number of rows chooses. Every row is computed alike, so no row can tell its neighbours."""

    def __init__(self, rows: int, vocabulary: int) -> None:
        self._vocabulary = vocabulary
        self._seeds = np.zeros(rows, dtype=np.uint64)
        self._temperature = np.ones(rows, dtype=np.float32)
        self._greedy = np.zeros(rows, dtype=bool)
        self._top_k = np.full(rows, vocabulary, dtype=np.int64)
        self._top_p = np.ones(rows, dtype=np.float64)

    def set_options(self, row: int, request: SampleRequest) -> None:
        self._seeds[row] = seed_word(request.seed)
        self._greedy[row] = request.temperature < GREEDY_BELOW
        self._temperature[row] = 1.0 if request.temperature < GREEDY_BELOW else request.temperature
        self._top_k[row] = self._vocabulary if request.top_k == -1 else min(request.top_k, self._vocabulary)
        self._top_p[row] = request.top_p

    def sample(self, logits: Tensor, drawn: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> SampledTokens:
        """For the first rows, as many as `logits` has. `drawn`: how many tokens each row has sampled so far."""
        device, rows = logits.device, len(logits)
        logprobs = torch.log_softmax(logits, dim=-1)
        temperature = self._temperature[:rows]
        scaled = logits / torch.from_numpy(temperature).to(device)[:, None] if (temperature != 1).any() else logits
        # Not logprobs.exp(): softmax goes row by row, exp over all numbers in one, with other code for the last few.
        probabilities = torch.softmax(scaled, dim=-1)
        noise = torch.from_numpy(uniforms(self._seeds[:rows], drawn[:rows])).to(device)[:, None]
        tokens = _inverse_cdf(probabilities, noise)
        filtered = (self._top_k[:rows] < self._vocabulary) | (self._top_p[:rows] < 1)
        if filtered.any():
            tokens = torch.where(torch.from_numpy(filtered).to(device), self._filtered(probabilities, noise), tokens)
        if self._greedy[:rows].any():
            tokens = torch.where(torch.from_numpy(self._greedy[:rows]).to(device), logits.argmax(dim=-1), tokens)
        return SampledTokens(tokens, logprobs)

    def _filtered(self, probabilities: Tensor, noise: Tensor) -> Tensor:
        """top_k first, then top_p of what is left: the fewest tokens that reach it."""
        device, rows = probabilities.device, len(probabilities)
        ordered, indices = torch.sort(probabilities.double(), dim=-1, descending=True, stable=True)
        ranks = torch.arange(self._vocabulary, device=device)
        ordered = ordered * (ranks < torch.from_numpy(self._top_k[:rows]).to(device)[:, None])
        cumulated = ordered.cumsum(dim=-1)
        reach = torch.from_numpy(self._top_p[:rows]).to(device)[:, None] * cumulated[:, -1:]
        ordered = ordered * ((cumulated - ordered < reach) | (ranks == 0))
        return indices.gather(-1, _inverse_cdf(ordered, noise)[:, None])[:, 0]


def _inverse_cdf(weights: Tensor, noise: Tensor) -> Tensor:
    """The first index whose cumulated weight passes noise * total. In doubles: float32 would lose rare tokens."""
    cumulated = weights.cumsum(dim=-1, dtype=torch.float64)
    found = torch.searchsorted(cumulated, noise * cumulated[:, -1:], right=True)[:, 0]
    return found.clamp_max(weights.shape[-1] - 1)


def best(logprobs: Tensor, count: int) -> list[Pairs]:
    """The likeliest tokens of each row, best first."""
    values, indices = logprobs.topk(min(count, logprobs.shape[-1]), dim=-1)
    return [list(zip(*row, strict=True)) for row in zip(indices.tolist(), values.tolist(), strict=True)]


def one_token(logits: Tensor, request: SampleRequest) -> SampledSequence:
    """What `sample` would begin with, from logits that are there already: (1, vocabulary)."""
    sampler = TokenSampler(1, logits.shape[-1])
    sampler.set_options(0, request)
    sampled = sampler.sample(logits, np.zeros(1, dtype=np.int64))
    token = int(sampled.tokens[0])
    topk = best(sampled.logprobs, request.topk_logprobs) if request.topk_logprobs else ()
    reason: StopReason = "stop" if token in request.stop_tokens else "length"
    return SampledSequence([token], [float(sampled.logprobs[0, token])], reason, topk)


class TokenDecoder:
    def __init__(self, directory: Path) -> None:
        path = directory / "tokenizer.json"
        if not path.is_file():
            raise EngineError(f"Stopping on text needs a tokenizer, but {directory} has no tokenizer.json.")
        self._tokenizer = Tokenizer.from_file(str(path))

    def text(self, tokens: Sequence[int]) -> str:
        """Special tokens are text too: somebody may want to stop on one by its name."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))


_UNFINISHED = "\ufffd"


class StopTexts:
    """Decodes as tokens come, each about once. A piece that ends inside a character stays open until it is whole."""

    def __init__(self, decoder: TokenDecoder, texts: Sequence[str]) -> None:
        self._decoder = decoder
        self._texts = texts
        self._overlap = max(len(text) for text in texts) - 1
        self._before: list[int] = []  # the last closed piece: some decoders treat a first token differently
        self._open: list[int] = []
        self._tail = ""  # the end of the closed text, as much as a stop could reach back into

    def stops(self, token: int) -> bool:
        self._open.append(token)
        closed = self._decoder.text(self._before) if self._before else ""
        piece = self._decoder.text([*self._before, *self._open])[len(closed) :]
        window = self._tail + piece
        if any(text in window for text in self._texts):
            return True
        if not piece.endswith(_UNFINISHED):
            self._tail = window[-self._overlap :] if self._overlap else ""
            self._before, self._open = self._open, []
        return False


class StopConditions:
    def __init__(self, request: SampleRequest, decoder: TokenDecoder | None) -> None:
        self._tokens = request.stop_tokens
        texts = [text for text in request.stop_texts if text]
        self._watch = StopTexts(decoder, texts) if texts and decoder is not None else None

    def reached(self, token: int) -> bool:
        """The token that ends a sequence is part of it, as the Tinker API has it."""
        if token in self._tokens:
            return True
        return self._watch is not None and self._watch.stops(token)

"""Sequences sampled together: a step samples a token for every row, ends those that are done, decodes the rest."""

import heapq
import math
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.engine.running_sequence import RunningSequence
from rtl_agent.backends.engine.token_sampling import TokenSampler, best


class Prefilled(Protocol):
    """A prompt that was read: what an engine keeps of it."""

    @property
    def length(self) -> int: ...

    @property
    def numbers(self) -> int:
        """How many numbers it keeps in memory."""


P = TypeVar("P", bound=Prefilled)
P_contra = TypeVar("P_contra", bound=Prefilled, contravariant=True)


class RowDecoder(Protocol[P_contra]):
    """Rows with their keys and values. `logits` has one row for each: of its next token."""

    logits: Tensor

    def place(self, row: int, prompt: P_contra) -> None: ...

    def wipe(self, row: int) -> None: ...

    def decode(self, tokens: NDArray[np.int64], positions: NDArray[np.int64], occupied: int) -> None:
        """Takes in each row's newest token at its position; empty rows say (0, 0)."""


class SamplingBatch(Generic[P]):
    def __init__(self, decoder: RowDecoder[P], rows: int, vocabulary: int) -> None:
        self._decoder = decoder
        self._sampler = TokenSampler(rows, vocabulary)
        self._sequences: dict[int, RunningSequence] = {}
        self._free = list(range(rows))
        self._newest = np.zeros(rows, dtype=np.int64)
        self._positions = np.zeros(rows, dtype=np.int64)
        self._drawn = np.zeros(rows, dtype=np.int64)

    @property
    def full(self) -> bool:
        return not self._free

    @property
    def empty(self) -> bool:
        return not self._sequences

    def join(self, sequence: RunningSequence, prompt: P) -> None:
        row = heapq.heappop(self._free)
        self._sequences[row] = sequence
        self._decoder.place(row, prompt)
        self._sampler.set_options(row, sequence.request)
        self._positions[row] = prompt.length
        self._drawn[row] = 0

    def step(self) -> None:
        sampled = self._sampler.sample(self._decoder.logits[: max(self._sequences) + 1], self._drawn)
        tokens = sampled.tokens.tolist()
        logprobs = sampled.logprobs.gather(1, sampled.tokens[:, None])[:, 0].tolist()
        self._drawn += 1
        for row, sequence in list(self._sequences.items()):
            token = tokens[row]
            if sequence.future.cancelled():
                self._leave(row)
                continue
            if not math.isfinite(logprobs[row]):
                self._decoder.wipe(row)
                self._leave(row).fail(EngineError("The model's logits are not finite."))
                continue
            k = sequence.request.topk_logprobs
            sequence.append(token, logprobs[row], best(sampled.logprobs[row : row + 1], k) if k else [])
            ended = sequence.stops.reached(token)
            if ended or len(sequence.tokens) == sequence.request.max_tokens:
                self._leave(row).finish("stop" if ended else "length")
            else:
                self._newest[row] = token
        self._settle()
        if self._sequences:
            self._decoder.decode(self._newest, self._positions, max(self._sequences) + 1)
            self._positions[list(self._sequences)] += 1

    def _settle(self) -> None:
        """Between the rows that left and the next decoding: where an engine may close gaps."""

    def _leave(self, row: int) -> RunningSequence:
        heapq.heappush(self._free, row)
        self._newest[row] = self._positions[row] = 0
        return self._sequences.pop(row)

    def abandon(self, error: EngineError) -> None:
        for row in list(self._sequences):
            self._leave(row).fail(error)

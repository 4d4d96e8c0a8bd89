"""Sequences sampled together: a step samples a token for every row, ends those that are done, decodes the rest."""

import heapq
import math
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from rtl_agent.backends.engine.contract import (
    EngineError,
    OnToken,
    SampledSequence,
    SampledToken,
    SampleRequest,
    StopReason,
)
from rtl_agent.backends.engine.qwen3.inference_model import InferenceModel, Pairs, best
from rtl_agent.backends.engine.qwen3.kv_cache import CachedDecoder, Prefilled
from rtl_agent.backends.engine.token_sampling import StopConditions, TokenSampler


@dataclass(eq=False)
class RunningSequence:
    """One request under way and what it has yielded."""

    request: SampleRequest
    future: "Future[SampledSequence]"
    stops: StopConditions
    on_token: OnToken | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    topk: list[Pairs] = field(default_factory=list)

    def append(self, token: int, logprob: float, topk: list[Pairs]) -> None:
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.topk += topk
        if self.on_token is not None:
            self.on_token(SampledToken(token, logprob, topk[0] if topk else ()))

    def finish(self, reason: StopReason) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(SampledSequence(self.tokens, self.logprobs, reason, self.topk))

    def fail(self, error: EngineError) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


class SamplingBatch:
    def __init__(self, model: InferenceModel, rows: int) -> None:
        self._decoder = CachedDecoder(model, rows)
        self._sampler = TokenSampler(rows, model.config.vocabulary)
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

    def join(self, sequence: RunningSequence, prompt: Prefilled) -> None:
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
        if self._sequences:
            self._decoder.decode(self._newest, self._positions, max(self._sequences) + 1)
            self._positions[list(self._sequences)] += 1

    def _leave(self, row: int) -> RunningSequence:
        heapq.heappush(self._free, row)
        self._newest[row] = self._positions[row] = 0
        return self._sequences.pop(row)

    def abandon(self, error: EngineError) -> None:
        for row in list(self._sequences):
            self._leave(row).fail(error)

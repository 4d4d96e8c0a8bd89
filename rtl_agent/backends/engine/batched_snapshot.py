"""A snapshot: inference weights with a queue of requests, served by one thread for the whole engine.

Sequences join and leave the running batches one by one.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol

import torch

from rtl_agent.backends.engine.contract import EngineError, OnToken, SampledSequence, SampleRequest, Score, ScoreRequest
from rtl_agent.backends.engine.running_sequence import RunningSequence
from rtl_agent.backends.engine.sampling_batch import P, SamplingBatch
from rtl_agent.backends.engine.scheduler import Scheduler
from rtl_agent.backends.engine.token_sampling import StopConditions, TokenDecoder, check_sampling_options

KEPT_PROMPTS = 1 << 24  # numbers, 64 MB


class SampledModel(Protocol[P]):
    """What an engine gives: weights that no longer change, and how they are computed with."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary(self) -> int: ...

    @property
    def context(self) -> int: ...

    @property
    def decoder(self) -> TokenDecoder: ...

    def prefill(self, prompt: Sequence[int]) -> P: ...

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[Score]: ...

    def joins(self, requests: Sequence[ScoreRequest], one: ScoreRequest) -> bool:
        """Whether one more is best scored in the same pass."""

    def new_batch(self) -> SamplingBatch[P]: ...


class BatchedSnapshot(Generic[P]):
    """Requests come from any thread; `turn` runs in the scheduler's. `batches`: how many may run side by side."""

    def __init__(
        self, model: SampledModel[P], scheduler: Scheduler, batches: int = 1, kept_prompts: int = KEPT_PROMPTS
    ) -> None:
        self.base = model.name
        self._model: SampledModel[P] | None = model
        self._scheduler = scheduler
        self._most_batches = batches
        self._kept_prompts = kept_prompts
        self._queue = threading.Lock()
        self._running = threading.Lock()
        self._waiting: deque[RunningSequence] = deque()
        self._scores: deque[tuple[ScoreRequest, Future[Score]]] = deque()
        self._batches: list[SamplingBatch[P]] = []
        self._prompts: OrderedDict[tuple[int, ...], P] = OrderedDict()
        self._kept = 0  # numbers in them
        self._closed = False

    def sample(self, request: SampleRequest, on_token: OnToken | None = None) -> "Future[SampledSequence]":
        """A request that cannot be served comes back as a future that has failed."""
        future: Future[SampledSequence] = Future()
        try:
            sequence = RunningSequence(request, future, self._checked(request), on_token)
            with self._queue:
                self._open()
                self._waiting.append(sequence)
        except EngineError as error:
            future.set_exception(error)
        else:
            self._scheduler.wake(self)
        return future

    def _checked(self, request: SampleRequest) -> StopConditions:
        model = self._open()
        if request.max_tokens < 1:
            raise EngineError(f"max_tokens is {request.max_tokens}; it should be at least 1.")
        if request.topk_logprobs < 0:
            raise EngineError("topk_logprobs cannot be negative.")
        check_sampling_options(request)
        _check_tokens(model, request.prompt, request.max_tokens)
        return StopConditions(request, model.decoder if request.stop_texts else None)

    def score(self, request: ScoreRequest) -> "Future[Score]":
        future: Future[Score] = Future()
        try:
            _check_tokens(self._open(), request.tokens, 0)
            if request.then is not None:
                check_sampling_options(request.then)
            if request.topk < 0 or (request.last is not None and request.last < 0):
                raise EngineError("topk and last of a score cannot be negative.")
            with self._queue:
                self._open()
                self._scores.append((request, future))
        except EngineError as error:
            future.set_exception(error)
        else:
            self._scheduler.wake(self)
        return future

    def _open(self) -> SampledModel[P]:
        model = self._model
        if model is None:
            raise EngineError(f"This snapshot of {self.base!r} was closed; make a new one to sample from.")
        return model

    @torch.inference_mode()
    def turn(self) -> bool:
        with self._running:
            model = self._model
            if model is None:
                return False
            try:
                self._admit(model)
                self._score_some(model)
                for batch in self._batches:
                    if not batch.empty:
                        batch.step()
            except Exception as error:
                # Whatever torch says (out of memory, mostly), nobody may wait for ever.
                self._abandon(EngineError(f"Sampling from {self.base!r} failed: {error}"))
            with self._queue:
                return bool(self._waiting or self._scores) or any(not batch.empty for batch in self._batches)

    def _admit(self, model: SampledModel[P]) -> None:
        while (batch := self._room(model)) is not None:
            with self._queue:
                if not self._waiting:
                    return
                sequence = self._waiting.popleft()
            if sequence.future.cancelled():
                continue
            try:
                prompt = self._prefilled(model, tuple(sequence.request.prompt))
            except Exception as error:
                sequence.fail(EngineError(f"Reading a prompt with {self.base!r} failed: {error}"))
            else:
                batch.join(sequence, prompt)

    def _room(self, model: SampledModel[P]) -> SamplingBatch[P] | None:
        for batch in self._batches:
            if not batch.full:
                return batch
        if len(self._batches) == self._most_batches or not self._waiting:
            return None
        self._batches.append(model.new_batch())
        return self._batches[-1]

    def _prefilled(self, model: SampledModel[P], prompt: tuple[int, ...]) -> P:
        """A group's prompt is read once; the prompts used last are kept."""
        if prompt not in self._prompts:
            self._prompts[prompt] = model.prefill(prompt)
            self._kept += self._prompts[prompt].numbers
        self._prompts.move_to_end(prompt)
        while len(self._prompts) > 1 and self._kept > self._kept_prompts:
            self._kept -= self._prompts.popitem(last=False)[1].numbers
        return self._prompts[prompt]

    def _score_some(self, model: SampledModel[P]) -> None:
        chosen: list[tuple[ScoreRequest, Future[Score]]] = []
        with self._queue:
            while self._scores and (not chosen or model.joins([request for request, _ in chosen], self._scores[0][0])):
                request, future = self._scores.popleft()
                if future.set_running_or_notify_cancel():
                    chosen.append((request, future))
        if not chosen:
            return
        try:
            found = model.score([request for request, _ in chosen])
        except Exception as error:
            for _, future in chosen:
                future.set_exception(EngineError(f"Scoring with {self.base!r} failed: {error}"))
        else:
            for (_, future), score in zip(chosen, found, strict=True):
                future.set_result(score)

    def _abandon(self, error: EngineError) -> None:
        with self._queue:
            waiting, scores = list(self._waiting), list(self._scores)
            self._waiting.clear()
            self._scores.clear()
        futures: list[Future[Any]] = [*(one.future for one in waiting), *(future for _, future in scores)]
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        for batch in self._batches:
            batch.abandon(error)
        self._batches.clear()

    def rest(self) -> None:
        """A server keeps several snapshots of a client, one for each step: the rows and prompts of 24 answers of a 1.5B
        model are 1.5 GB in each."""
        with self._running, self._queue:
            if not self._waiting and all(batch.empty for batch in self._batches):
                self._batches.clear()
                self._prompts.clear()
                self._kept = 0

    def close(self) -> None:
        """What is under way or waits fails; the memory is free when this returns."""
        with self._queue:
            self._model = None
        with self._running:
            self._abandon(EngineError(f"The snapshot of {self.base!r} was closed while it was sampled from."))
            self._prompts.clear()


def _check_tokens(model: SampledModel[Any], tokens: Sequence[int], more: int) -> None:
    if not len(tokens):
        raise EngineError("The prompt is empty; there must be at least one token.")
    if min(tokens) < 0 or max(tokens) >= model.vocabulary:
        wrong = next(token for token in tokens if not 0 <= token < model.vocabulary)
        raise EngineError(f"The prompt has token {wrong}; the model's vocabulary ends at {model.vocabulary - 1}.")
    if len(tokens) + more > model.context:
        asked = f" and max_tokens {more}" if more else ""
        raise EngineError(f"The prompt has {len(tokens)} tokens{asked}; the model's context is {model.context}.")

"""A snapshot: inference weights with a queue of requests, served by one thread for the whole engine.

Sequences join and leave the running batches one by one.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import torch

from rtl_agent.backends.engine.contract import EngineError, OnToken, SampledSequence, SampleRequest, Score, ScoreRequest
from rtl_agent.backends.engine.qwen3.inference_model import InferenceModel, score
from rtl_agent.backends.engine.qwen3.kv_cache import Prefilled, prefill
from rtl_agent.backends.engine.qwen3.sampling_batch import RunningSequence, SamplingBatch
from rtl_agent.backends.engine.token_sampling import StopConditions, check_sampling_options


class Work(Protocol):
    def turn(self) -> bool:
        """A few milliseconds of work; False when there is nothing left to do."""


class Scheduler:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: dict[Work, None] = {}  # in order of arrival
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self, work: Work) -> None:
        """`work` has something to do. The thread starts with the first of it."""
        with self._changed:
            if self._closed:
                return
            self._busy[work] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="engine-sampling", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._busy or self._closed)
                if self._closed:
                    return
                turn, self._busy = self._busy, {}
            again = [work for work in turn if work.turn()]
            with self._changed:
                self._busy = dict.fromkeys(again) | self._busy

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._busy.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()


# Rows of a batch are a part of what a sequence yields (see kv_cache.py): changing them changes the last bits.
# 16 on a CPU: 32 rows take twice as long, and half of them would be empty when a group of 16 is sampled.
ROWS = {"cpu": 16, "cuda": 128}
BATCHES = 2
KEPT_PROMPTS = 1 << 24  # numbers, 64 MB


class Qwen3Snapshot:
    """Requests come from any thread; `turn` runs in the scheduler's."""

    def __init__(self, model: InferenceModel, scheduler: Scheduler) -> None:
        self.base = model.base.name
        self._model: InferenceModel | None = model
        self._scheduler = scheduler
        self._rows = ROWS[model.base.device.type]
        self._queue = threading.Lock()
        self._running = threading.Lock()
        self._waiting: deque[RunningSequence] = deque()
        self._scores: deque[tuple[ScoreRequest, Future[Score]]] = deque()
        self._batches: list[SamplingBatch] = []
        self._prompts: OrderedDict[tuple[int, ...], Prefilled] = OrderedDict()
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
        return StopConditions(request, model.base.decoder if request.stop_texts else None)

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

    def _open(self) -> InferenceModel:
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
                self._score_one(model)
                for batch in self._batches:
                    if not batch.empty:
                        batch.step()
            except Exception as error:
                # Whatever torch says (out of memory, mostly), nobody may wait for ever.
                self._abandon(EngineError(f"Sampling from {self.base!r} failed: {error}"))
            with self._queue:
                return bool(self._waiting or self._scores) or any(not batch.empty for batch in self._batches)

    def _admit(self, model: InferenceModel) -> None:
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

    def _room(self, model: InferenceModel) -> SamplingBatch | None:
        for batch in self._batches:
            if not batch.full:
                return batch
        if len(self._batches) == BATCHES or not self._waiting:
            return None
        self._batches.append(SamplingBatch(model, self._rows))
        return self._batches[-1]

    def _prefilled(self, model: InferenceModel, prompt: tuple[int, ...]) -> Prefilled:
        """A group's prompt is read once; the prompts used last are kept."""
        if prompt not in self._prompts:
            self._prompts[prompt] = prefill(model, torch.tensor(prompt, device=model.base.device))
            self._kept += self._prompts[prompt].numbers
        self._prompts.move_to_end(prompt)
        while len(self._prompts) > 1 and self._kept > KEPT_PROMPTS:
            self._kept -= self._prompts.popitem(last=False)[1].numbers
        return self._prompts[prompt]

    def _score_one(self, model: InferenceModel) -> None:
        with self._queue:
            if not self._scores:
                return
            request, future = self._scores.popleft()
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(score(model, request))
            except Exception as error:
                future.set_exception(EngineError(f"Scoring with {self.base!r} failed: {error}"))

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

    def close(self) -> None:
        """What is under way or waits fails; the memory is free when this returns."""
        with self._queue:
            self._model = None
        with self._running:
            self._abandon(EngineError(f"The snapshot of {self.base!r} was closed while it was sampled from."))
            self._prompts.clear()


def _check_tokens(model: InferenceModel, tokens: Sequence[int], more: int) -> None:
    config = model.config
    if not len(tokens):
        raise EngineError("The prompt is empty; there must be at least one token.")
    if min(tokens) < 0 or max(tokens) >= config.vocabulary:
        wrong = next(token for token in tokens if not 0 <= token < config.vocabulary)
        raise EngineError(f"The prompt has token {wrong}; the model's vocabulary ends at {config.vocabulary - 1}.")
    if len(tokens) + more > config.context:
        asked = f" and max_tokens {more}" if more else ""
        raise EngineError(f"The prompt has {len(tokens)} tokens{asked}; the model's context is {config.context}.")

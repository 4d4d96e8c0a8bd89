"""A snapshot: frozen weights with a queue of requests. Sequences join and leave the running batches one by one."""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence as Many
from concurrent.futures import Future
from typing import Any

import torch

from rtl_agent.backends.engine.batch import Batch, Sequence
from rtl_agent.backends.engine.choice import check_settings
from rtl_agent.backends.engine.contract import EngineError, Sample, SampleRequest, Score, ScoreRequest
from rtl_agent.backends.engine.frozen import FrozenModel
from rtl_agent.backends.engine.scheduler import Scheduler
from rtl_agent.backends.engine.scoring import score
from rtl_agent.backends.engine.stops import Stops
from rtl_agent.backends.engine.tile import Prefilled, prefill

# Rows of a batch are a part of what a sequence yields (see tile.py): changing them changes the last bits.
# 16 on a CPU: 32 rows take twice as long, and half of them would be empty when a group of 16 is sampled.
ROWS = {"cpu": 16, "cuda": 128}
BATCHES = 2
KEPT_PROMPTS = 1 << 24  # numbers, 64 MB


class Sampler:
    """Requests come from any thread; `turn` runs in the scheduler's."""

    def __init__(self, model: FrozenModel, scheduler: Scheduler) -> None:
        self.base = model.base.name
        self._model: FrozenModel | None = model
        self._scheduler = scheduler
        self._rows = ROWS[model.base.device.type]
        self._queue = threading.Lock()
        self._running = threading.Lock()
        self._waiting: deque[Sequence] = deque()
        self._scores: deque[tuple[ScoreRequest, Future[Score]]] = deque()
        self._batches: list[Batch] = []
        self._prompts: OrderedDict[tuple[int, ...], Prefilled] = OrderedDict()
        self._kept = 0  # numbers in them
        self._closed = False

    def sample(self, request: SampleRequest) -> "Future[Sample]":
        """A request that cannot be served comes back as a future that has failed."""
        future: Future[Sample] = Future()
        try:
            sequence = Sequence(request, future, self._checked(request))
            with self._queue:
                self._open()
                self._waiting.append(sequence)
        except EngineError as error:
            future.set_exception(error)
        else:
            self._scheduler.wake(self)
        return future

    def _checked(self, request: SampleRequest) -> Stops:
        model = self._open()
        if request.max_tokens < 1:
            raise EngineError(f"max_tokens is {request.max_tokens}; it should be at least 1.")
        if request.topk_logprobs < 0:
            raise EngineError("topk_logprobs cannot be negative.")
        check_settings(request)
        _check_tokens(model, request.prompt, request.max_tokens)
        return Stops(request, model.base.decoder if request.stop_texts else None)

    def score(self, request: ScoreRequest) -> "Future[Score]":
        future: Future[Score] = Future()
        try:
            _check_tokens(self._open(), request.tokens, 0)
            if request.then is not None:
                check_settings(request.then)
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

    def _open(self) -> FrozenModel:
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

    def _admit(self, model: FrozenModel) -> None:
        while (batch := self._room(model)) is not None:
            with self._queue:
                if not self._waiting:
                    return
                sequence = self._waiting.popleft()
            if not sequence.future.set_running_or_notify_cancel():
                continue
            try:
                prompt = self._prefilled(model, tuple(sequence.request.prompt))
            except Exception as error:
                sequence.future.set_exception(EngineError(f"Reading a prompt with {self.base!r} failed: {error}"))
            else:
                batch.join(sequence, prompt)

    def _room(self, model: FrozenModel) -> Batch | None:
        for batch in self._batches:
            if not batch.full:
                return batch
        if len(self._batches) == BATCHES or not self._waiting:
            return None
        self._batches.append(Batch(model, self._rows))
        return self._batches[-1]

    def _prefilled(self, model: FrozenModel, prompt: tuple[int, ...]) -> Prefilled:
        """A group's prompt is read once; the prompts used last are kept."""
        if prompt not in self._prompts:
            self._prompts[prompt] = prefill(model, torch.tensor(prompt, device=model.base.device))
            self._kept += self._prompts[prompt].numbers
        self._prompts.move_to_end(prompt)
        while len(self._prompts) > 1 and self._kept > KEPT_PROMPTS:
            self._kept -= self._prompts.popitem(last=False)[1].numbers
        return self._prompts[prompt]

    def _score_one(self, model: FrozenModel) -> None:
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


def _check_tokens(model: FrozenModel, tokens: Many[int], more: int) -> None:
    config = model.config
    if not len(tokens):
        raise EngineError("The prompt is empty; there must be at least one token.")
    if min(tokens) < 0 or max(tokens) >= config.vocabulary:
        wrong = next(token for token in tokens if not 0 <= token < config.vocabulary)
        raise EngineError(f"The prompt has token {wrong}; the model's vocabulary ends at {config.vocabulary - 1}.")
    if len(tokens) + more > config.context:
        asked = f" and max_tokens {more}" if more else ""
        raise EngineError(f"The prompt has {len(tokens)} tokens{asked}; the model's context is {config.context}.")

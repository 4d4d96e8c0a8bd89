"""A training run: a model that changes, the queue that orders its requests, and what each request does."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.engine.contract import Adam, EngineError, Lora, LossName, ModelInfo, Snapshot, TrainedModel
from rtl_agent.backends.server import tensors
from rtl_agent.backends.server.checkpoint_store import CheckpointStore, Kind, StoredRun, address, parse
from rtl_agent.backends.server.futures import Payload, json_payload
from rtl_agent.backends.server.requests import AdamFields, LoadWeights, SaveWeights
from rtl_agent.web.errors import bad_request

Result = TypeVar("Result")

GAP_SECONDS = 30.0  # a sequence id that does not come for so long never will: its sender failed


class TrainingQueue:
    """The SDK counts from 1. A call that comes early waits for its predecessors."""

    def __init__(self, name: str, first: int = 1, gap_seconds: float = GAP_SECONDS) -> None:
        self._next = first
        self._gap_seconds = gap_seconds
        self._early: dict[int, Callable[[], None]] = {}
        self._gap: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: set[asyncio.Future[Any]] = set()

    def submit(self, sequence_id: int | None, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Queue a call; the future is done when it has run."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def settle(result: Result | None, error: BaseException | None) -> None:
            if done.done():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]  # Result may itself be None

        def run() -> None:
            try:
                result, error = call(), None
            except Exception as raised:
                loop.call_soon_threadsafe(settle, None, raised)
            else:
                loop.call_soon_threadsafe(settle, result, error)

        def enqueue() -> None:
            self._thread.submit(run)

        if sequence_id is None:
            sequence_id = self._next
        if sequence_id < self._next or sequence_id in self._early:
            raise bad_request(f"sequence id {sequence_id} was already used; the next one is {self._next}")
        self._waiting.add(done)
        done.add_done_callback(self._waiting.discard)
        self._early[sequence_id] = enqueue
        self._let_through()
        return done

    def _let_through(self) -> None:
        while self._next in self._early:
            self._early.pop(self._next)()
            self._next += 1
        if self._gap:
            self._gap.cancel()
            self._gap = None
        if self._early:
            self._gap = asyncio.get_running_loop().call_later(self._gap_seconds, self._skip_gap)

    def _skip_gap(self) -> None:
        self._gap = None
        if self._early:
            self._next = min(self._early)
            self._let_through()

    def close(self, last: Callable[[], None]) -> None:
        """No more calls: those that wait fail, and `last` runs after the one that runs now."""
        if self._gap:
            self._gap.cancel()
        self._early.clear()
        for done in list(self._waiting):
            done.set_exception(EngineError("the model was unloaded before this request could run"))
        self._thread.shutdown(wait=False, cancel_futures=True)
        closing = ThreadPoolExecutor(1, thread_name_prefix="closing")

        def wait_then_close() -> None:
            self._thread.shutdown(wait=True)
            last()

        closing.submit(wait_then_close)
        closing.shutdown(wait=False)


LOSSES: tuple[LossName, ...] = get_args(LossName)


def now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass(eq=False)
class TrainingRun:
    """The methods compute: they are called on the run's own thread, in turn."""

    id: str
    session_id: str
    info: ModelInfo
    lora: Lora
    user_metadata: Mapping[str, str] | None
    model: TrainedModel
    queue: TrainingQueue
    checkpoints: CheckpointStore
    started: str

    @property
    def record(self) -> StoredRun:
        return StoredRun(self.id, self.info.name, self.lora, self.user_metadata, self.started)

    def forward_backward(self, request: pb.ForwardBackwardRequest) -> Payload:
        if request.loss_fn not in LOSSES:
            raise EngineError(f"the loss {request.loss_fn!r} is not supported; use one of {', '.join(LOSSES)}")
        loss = LOSSES[LOSSES.index(request.loss_fn)]
        batch = tensors.examples(request, self.info)
        config = tensors.loss_config(request)
        passed = self.model.forward_backward(batch, loss, config, forward_only=request.forward_only)
        return tensors.forward_backward_payload(passed)

    def optim_step(self, fields: AdamFields) -> Payload:
        if fields.type != "adamw":
            raise EngineError(f"the optimizer {fields.type!r} is not supported; use adamw")
        adam = Adam(
            fields.learning_rate, fields.beta1, fields.beta2, fields.eps, fields.weight_decay, fields.grad_clip_norm
        )
        return json_payload({"metrics": dict(self.model.step(adam))})

    def save(self, request: SaveWeights, kind: Kind) -> Payload:
        where = address(self.id, kind, request.path or "latest")
        self.checkpoints.write(
            self.record,
            where,
            partial(self._save, optimizer=kind == "weights"),
            overwrite=request.overwrite,
            ttl_seconds=request.ttl_seconds,
            user_metadata=request.user_metadata,
        )
        return json_payload({"path": where.path})

    def _save(self, directory: Path, *, optimizer: bool) -> None:
        self.model.save(directory, optimizer=optimizer)

    def load(self, request: LoadWeights) -> Payload:
        where = parse(request.path)
        if request.optimizer and where.kind == "sampler_weights":
            raise EngineError(f"{request.path} was saved for sampling, without optimizer state; use one of save_state")
        self.model.load(self.checkpoints.directory(where), optimizer=request.optimizer)
        return json_payload({"path": request.path, "model_id": self.id})

    def snapshot(self) -> Snapshot:
        return self.model.snapshot()

    def close(self) -> None:
        self.queue.close(self.model.close)

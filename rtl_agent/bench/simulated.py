"""A server that takes its time instead of computing: our own Tinker server over an engine that only waits.

Everything but the arithmetic is real: the SDK, the wire, futures, snapshots by name, the order of training calls. Any
number of samples go on side by side, as on a large service; training calls run one after the other.
"""

import asyncio
import hashlib
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rtl_agent.backends.engine.contract import (
    Adam,
    Example,
    ForwardBackwardOutput,
    Lora,
    LossName,
    ModelInfo,
    OnToken,
    SampledSequence,
    SampleRequest,
    Score,
    ScoreRequest,
)
from rtl_agent.backends.engine.qwen3.config import read_config
from rtl_agent.backends.models import model_directory
from rtl_agent.backends.server.app import serve
from rtl_agent.backends.server.process import new_key

ORDINARY, LONG = 400, 401  # tokens of the two kinds of answers
START_SECONDS = 30.0


@dataclass(frozen=True)
class Latencies:
    """Seconds of an ordinary answer, and of training on one. Every `long_every`th is `times` as long."""

    sample: float
    train: float
    tokens: int = 100
    long_every: int = 0  # 0: none is
    times: int = 4

    def length(self, request: SampleRequest) -> tuple[int, int]:
        """The token that an answer is made of, and how many of it are still to come after this prompt."""
        last = request.prompt[-1]
        if last not in (ORDINARY, LONG):  # a new answer, not the rest of one
            digest = hashlib.sha256(str(request.seed).encode()).digest()
            long = self.long_every and int.from_bytes(digest[:4], "big") % self.long_every == 0
            return (LONG, self.tokens * self.times) if long else (ORDINARY, self.tokens)
        before = next((at for at, token in enumerate(reversed(request.prompt)) if token != last), len(request.prompt))
        return last, max(1, (self.tokens * self.times if last == LONG else self.tokens) - before)


class WaitingSnapshot:
    def __init__(self, base: str, latencies: Latencies) -> None:
        self.base = base
        self._latencies = latencies

    def sample(self, request: SampleRequest, on_token: OnToken | None = None) -> "Future[SampledSequence]":
        token, left = self._latencies.length(request)
        count = min(left, request.max_tokens)
        tokens = [token] * count
        if left <= request.max_tokens and request.stop_tokens:
            tokens[-1] = min(request.stop_tokens)
        ended = SampledSequence(tokens, [-1.0] * count, "stop" if left <= request.max_tokens else "length")
        future: Future[SampledSequence] = Future()
        timer = threading.Timer(self._latencies.sample * count / self._latencies.tokens, _settle, (future, ended))
        timer.daemon = True
        timer.start()
        return future

    def score(self, request: ScoreRequest) -> "Future[Score]":
        future: Future[Score] = Future()
        then = None
        if request.then is not None:
            then = SampledSequence([ORDINARY], [-1.0], "length")
        future.set_result(Score([None, *[-1.0] * (len(request.tokens) - 1)], then=then))
        return future

    def close(self) -> None: ...


def _settle(future: "Future[SampledSequence]", result: SampledSequence) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(result)


class WaitingModel:
    def __init__(self, base: str, lora: Lora, latencies: Latencies) -> None:
        self.base, self.lora = base, lora
        self._latencies = latencies

    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        time.sleep(self._latencies.train * len(examples))
        shapes = [np.shape(one.inputs["target_tokens"]) for one in examples]
        return ForwardBackwardOutput([np.full(shape, -1.0, np.float32) for shape in shapes], 0.0)

    def step(self, adam: Adam) -> Mapping[str, float]:
        return {}

    def snapshot(self) -> WaitingSnapshot:
        return WaitingSnapshot(self.base, self._latencies)

    def save(self, directory: Path, *, optimizer: bool) -> None:
        directory.mkdir(parents=True)
        (directory / "nothing").write_text("this engine has no weights\n")

    def load(self, directory: Path, *, optimizer: bool) -> None: ...

    def close(self) -> None: ...


class WaitingEngine:
    def __init__(self, model: str, latencies: Latencies) -> None:
        config = read_config(model_directory(model))
        self._info = ModelInfo(model, config.vocabulary, config.context, config.parameters, exact=True)
        self._latencies = latencies

    def models(self) -> Sequence[ModelInfo]:
        return [self._info]

    def create(self, base: str, lora: Lora) -> WaitingModel:
        return WaitingModel(base, lora, self._latencies)

    def base_snapshot(self, base: str) -> WaitingSnapshot:
        return WaitingSnapshot(base, self._latencies)

    def load_snapshot(self, base: str, directory: Path) -> WaitingSnapshot:
        return WaitingSnapshot(base, self._latencies)

    def close(self) -> None: ...


@contextmanager
def waiting_server(model: str, latencies: Latencies, state: Path) -> Iterator[tuple[str, str]]:
    """Its URL and its key, on loopback, in a thread."""
    key, ports = new_key(), queue.SimpleQueue[int]()
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        await serve(WaitingEngine(model, latencies), key=key, state=state, ready=ports.put, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="waiting server", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ports.get(timeout=START_SECONDS)}", key
    finally:
        for loop, stop in stops:
            loop.call_soon_threadsafe(stop.set)
        thread.join(START_SECONDS)

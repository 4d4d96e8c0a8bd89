"""Each check of the conformance suite that guards a property of the engine fails on an engine without that property."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import tinker

from rtl_agent.backends.conformance import Subject, run_check
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
    Snapshot,
    TrainedModel,
)
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.server.app import serve

KEY = "tml-broken"


class Wrapped:
    """A trained model that does all as it should; what is broken overrides a method."""

    def __init__(self, model: TrainedModel) -> None:
        self.model = model
        self.base, self.lora = model.base, model.lora

    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        return self.model.forward_backward(examples, loss, config, forward_only=forward_only)

    def step(self, adam: Adam) -> Mapping[str, float]:
        return self.model.step(adam)

    def snapshot(self) -> Snapshot:
        return self.model.snapshot()

    def save(self, directory: Path, *, optimizer: bool) -> None:
        self.model.save(directory, optimizer=optimizer)

    def load(self, directory: Path, *, optimizer: bool) -> None:
        self.model.load(directory, optimizer=optimizer)

    def close(self) -> None:
        self.model.close()


class MeanLoss(Wrapped):
    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        passed = super().forward_backward(examples, loss, config, forward_only=forward_only)
        return replace(passed, loss_sum=passed.loss_sum / sum(len(example.tokens) for example in examples))


class DoubleGradient(Wrapped):
    """Right values, twice the gradient of policy losses."""

    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        if loss != "cross_entropy":
            super().forward_backward(examples, loss, config)
        return super().forward_backward(examples, loss, config, forward_only=forward_only)


class ForwardTrains(Wrapped):
    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        return super().forward_backward(examples, loss, config)


class Reversed(Wrapped):
    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        passed = super().forward_backward(examples, loss, config, forward_only=forward_only)
        return replace(passed, logprobs=[*passed.logprobs][::-1])


class NoOptimizerState(Wrapped):
    def load(self, directory: Path, *, optimizer: bool) -> None:
        super().load(directory, optimizer=False)


class Asking:
    """A snapshot that takes its snapshot anew at each request, so that training shows."""

    def __init__(self, model: TrainedModel, change: Callable[[SampleRequest], SampleRequest] | None = None) -> None:
        self.base, self._model, self._change = model.base, model, change
        self._first = model.snapshot()

    def sample(self, request: SampleRequest, on_token: OnToken | None = None) -> "Future[SampledSequence]":
        return self._first.sample(self._change(request) if self._change else request, on_token)

    def score(self, request: ScoreRequest) -> "Future[Score]":
        return (self._first if self._change else self._model.snapshot()).score(request)

    def close(self) -> None:
        self._first.close()


class LiveSnapshot(Wrapped):
    def snapshot(self) -> Snapshot:
        return Asking(self.model)


class OneSeed(Wrapped):
    def snapshot(self) -> Snapshot:
        return Asking(self.model, lambda request: replace(request, seed=1))


class NoStops(Wrapped):
    def snapshot(self) -> Snapshot:
        return Asking(self.model, lambda request: replace(request, stop_tokens=frozenset(), stop_texts=()))


class NoTopK(Wrapped):
    def snapshot(self) -> Snapshot:
        return Asking(self.model, lambda request: replace(request, top_k=-1))


class NoTopP(Wrapped):
    def snapshot(self) -> Snapshot:
        return Asking(self.model, lambda request: replace(request, top_p=1.0))


class BrokenEngine:
    """The real engine with broken models."""

    def __init__(self, model: str) -> None:
        self._engine = Qwen3Engine([model])
        self.kind: type[Wrapped] = Wrapped

    def models(self) -> Sequence[ModelInfo]:
        return self._engine.models()

    def create(self, base: str, lora: Lora) -> TrainedModel:
        return self.kind(self._engine.create(base, lora))

    def base_snapshot(self, base: str) -> Snapshot:
        return self._engine.base_snapshot(base)

    def load_snapshot(self, base: str, directory: Path) -> Snapshot:
        return self._engine.load_snapshot(base, directory)

    def close(self) -> None:
        self._engine.close()


@contextmanager
def served(engine: BrokenEngine, state: Path) -> Iterator[str]:
    up, ports = threading.Event(), []
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    def ready(port: int) -> None:
        ports.append(port)
        up.set()

    def run() -> None:
        loop.run_until_complete(serve(engine, key=KEY, state=state, ready=ready, stop=stop))

    thread = threading.Thread(target=run)
    thread.start()
    assert up.wait(60)
    try:
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def broken(tiny_model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokenEngine, Subject]]:
    engine = BrokenEngine(tiny_model)
    with served(engine, tmp_path_factory.mktemp("broken")) as url:
        yield engine, Subject(tinker.ServiceClient(base_url=url, api_key=KEY), tiny_model, url, KEY)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (MeanLoss, "loss_cross_entropy"),
        (MeanLoss, "loss_ppo"),
        (DoubleGradient, "loss_importance_sampling"),
        (DoubleGradient, "loss_cispo"),
        (DoubleGradient, "loss_dro"),
        (ForwardTrains, "forward_leaves_no_gradient"),
        (Reversed, "outputs_keep_the_datum_order"),
        (NoOptimizerState, "checkpoint_with_optimizer"),
        (LiveSnapshot, "a_sampler_is_a_snapshot"),
        (OneSeed, "seeds_repeat"),
        (OneSeed, "samples_of_one_request_differ"),
        (NoStops, "stop_tokens"),
        (NoTopK, "top_k_and_top_p_limit_the_choice"),
        (NoTopP, "top_k_and_top_p_limit_the_choice"),
    ],
)
async def test_a_broken_engine_is_found(kind: type[Wrapped], check: str, broken: tuple[BrokenEngine, Subject]) -> None:
    engine, subject = broken
    engine.kind = Wrapped
    assert (await run_check(check, subject, 60)).message == ""
    engine.kind = kind
    assert not (await run_check(check, subject, 60)).passed

"""Engines by name, and which of them runs a model.

A package adds an engine by an entry point of the group `rtl_agent.engines` whose object is an `EngineKind`. A model
runs on the first engine that does not refuse it, ours before installed ones, or on the one that `--engine` names.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rtl_agent.backends.engine.contract import Engine, EngineError, Lora, ModelInfo, Snapshot, TrainedModel
from rtl_agent.backends.engine.qwen3.config import read_config
from rtl_agent.backends.engine.weight_files import read_weight_files
from rtl_agent.backends.models import model_directory
from rtl_agent.registry import PluginError, Registry, UnknownName


@dataclass(frozen=True)
class EngineOptions:
    """What a server says to every engine. None: the engine decides, by the model.

    `threads` is for the whole process. `dtype`: float32 or bfloat16. `memory`: GB that training may take beside the
    weights, for one micro-batch.
    """

    device: str = "cpu"
    threads: int | None = None
    dtype: str | None = None
    memory: float | None = None


class EngineKind(Protocol):
    """What the registry holds: it knows which models it can run before anything heavy is imported."""

    def refusal(self, directory: Path) -> str | None:
        """Why it cannot run the model in this directory; None if it can. Reads the configuration at most."""

    def create(self, models: Sequence[str], options: EngineOptions) -> Engine:
        """An engine that offers `models`; it reads others when asked for them."""


# Above it the qwen3 engine's float32 and its copies of weights for every snapshot cost more than exactness is worth.
QWEN3_MOST = 200_000_000
# Below it a second thread adds overhead, and one thread repeats to the bit.
MORE_THREADS_ABOVE = 50_000_000


def default_threads(models: Sequence[str]) -> int:
    """All cores if one of the models is large, or as many as OMP_NUM_THREADS says: where other work takes turns with
    ours, two threads wait for each other at every product. A model that cannot be read is somebody else's error."""
    cores, wanted = len(os.sched_getaffinity(0)), os.environ.get("OMP_NUM_THREADS", "")
    most = min(cores, int(wanted)) if wanted.isdecimal() and int(wanted) else cores
    for model in models:
        try:
            if read_weight_files(model_directory(model)).parameters > MORE_THREADS_ABOVE:
                return most
        except EngineError:
            continue
    return 1


class Qwen3Kind:
    def refusal(self, directory: Path) -> str | None:
        try:
            parameters = read_config(directory).parameters
        except EngineError as error:
            return str(error)
        if parameters > QWEN3_MOST:
            return (
                f"{directory} has {parameters / 1e6:,.0f}M weights; the qwen3 engine runs models of up to "
                f"{QWEN3_MOST / 1e6:,.0f}M."
            )
        return None

    def create(self, models: Sequence[str], options: EngineOptions) -> Engine:
        from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine  # imports torch

        if options.dtype not in (None, "float32"):
            raise EngineError(
                f"The qwen3 engine computes in float32, not in {options.dtype}; use --engine transformers."
            )
        return Qwen3Engine(models, device=options.device, threads=options.threads or default_threads(models))


class TransformersKind:
    def refusal(self, directory: Path) -> str | None:
        try:
            from rtl_agent.backends.engine.causal_lm.architecture import refusal
        except ImportError as error:
            return f"the transformers engine needs {error.name}: pip install 'rtl-agent[train]'"
        return refusal(directory)

    def create(self, models: Sequence[str], options: EngineOptions) -> Engine:
        from rtl_agent.backends.engine.causal_lm.engine import CausalLmEngine  # imports torch and transformers

        return CausalLmEngine(
            models,
            device=options.device,
            threads=options.threads or default_threads(models),
            dtype=options.dtype,
            memory=options.memory,
        )


ENGINES: Registry[EngineKind] = Registry(
    "engine", "rtl_agent.engines", {"qwen3": Qwen3Kind(), "transformers": TransformersKind()}
)


def choose_engine(model: str, wanted: str | None = None) -> str:
    """The name of the engine for a model: `wanted`, or the first that can run it."""
    directory = model_directory(model)
    refusals: dict[str, str] = {}
    for name in [wanted] if wanted is not None else ENGINES:
        try:
            refusal = ENGINES[name].refusal(directory)
        except UnknownName as error:
            raise EngineError(str(error)) from error
        except PluginError as error:
            refusal = str(error)
        if refusal is None:
            return name
        refusals[name] = refusal
    if len(refusals) == 1:
        raise EngineError(next(iter(refusals.values())))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
    raise EngineError(f"No engine can run {model!r}. {reasons}")


class EngineByModel:
    """An engine made of engines: each model runs on the one chosen for it, and one server serves several kinds."""

    def __init__(self, models: Sequence[str], options: EngineOptions, wanted: str | None = None) -> None:
        self._offered = list(dict.fromkeys(models))
        # Threads are the process's, so that all models decide together.
        self._options = replace(options, threads=options.threads or default_threads(self._offered))
        self._wanted = wanted
        self._chosen = {model: choose_engine(model, wanted) for model in self._offered}
        self._engines: dict[str, Engine] = {}
        self._creating = threading.Lock()

    def engine_name(self, base: str) -> str:
        if base not in self._chosen:
            self._chosen[base] = choose_engine(base, self._wanted)
        return self._chosen[base]

    def models(self) -> Sequence[ModelInfo]:
        for base in self._offered:
            self._engine(base)
        infos = {info.name: info for engine in list(self._engines.values()) for info in engine.models()}
        return [infos[name] for name in dict.fromkeys([*self._offered, *infos])]

    def create(self, base: str, lora: Lora) -> TrainedModel:
        return self._engine(base).create(base, lora)

    def base_snapshot(self, base: str) -> Snapshot:
        return self._engine(base).base_snapshot(base)

    def load_snapshot(self, base: str, directory: Path) -> Snapshot:
        return self._engine(base).load_snapshot(base, directory)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()

    def _engine(self, base: str) -> Engine:
        name = self.engine_name(base)
        with self._creating:
            if name not in self._engines:
                offered = [model for model in self._offered if self._chosen[model] == name]
                self._engines[name] = ENGINES[name].create(offered, self._options)
            return self._engines[name]

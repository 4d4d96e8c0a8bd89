"""The engine: base models by name, what is trained from them, and the snapshots that are sampled from."""

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import torch

from rtl_agent.backends.engine import checkpoints
from rtl_agent.backends.engine.contract import EngineError, Lora, ModelInfo
from rtl_agent.backends.engine.qwen3.config import read_config
from rtl_agent.backends.engine.qwen3.inference_model import InferenceModel
from rtl_agent.backends.engine.qwen3.network import BaseModel, model_info, read_base
from rtl_agent.backends.engine.qwen3.parameters import Parameters
from rtl_agent.backends.engine.qwen3.snapshot import Qwen3Snapshot
from rtl_agent.backends.engine.qwen3.trained_model import Qwen3TrainedModel
from rtl_agent.backends.engine.scheduler import Scheduler
from rtl_agent.backends.models import OWN, model_directory


class Qwen3Engine:
    """`models`: what to offer; other names are read when somebody asks for them.

    `threads` is for the whole process and part of what a computation yields: sums over several threads are ordered
    differently. One is right for small models: at 1M parameters a second core adds overhead, and the other core has
    grading to do. Use more for models above about 50M parameters.
    """

    def __init__(self, models: Sequence[str] = OWN, *, device: str = "cpu", threads: int = 1) -> None:
        if device.partition(":")[0] not in ("cpu", "cuda"):
            raise EngineError(f"The device {device!r} is not supported; use cpu or cuda.")
        kind = torch.device(device)
        if kind.type == "cuda" and not torch.cuda.is_available():
            raise EngineError("The device is cuda, but torch finds no GPU on this machine; use cpu.")
        torch.set_num_threads(threads)
        self._device = kind
        self._offered = list(models)
        self._bases: dict[str, BaseModel] = {}
        self._untrained: weakref.WeakValueDictionary[str, InferenceModel] = weakref.WeakValueDictionary()
        self._reading = threading.Lock()
        self._scheduler = Scheduler()
        self._samplers: weakref.WeakSet[Qwen3Snapshot] = weakref.WeakSet()

    def models(self) -> Sequence[ModelInfo]:
        names = dict.fromkeys([*self._offered, *self._bases])
        return [model_info(name, read_config(model_directory(name))) for name in names]

    def create(self, base: str, lora: Lora) -> Qwen3TrainedModel:
        return Qwen3TrainedModel(self._base(base), lora, self._publish)

    def base_snapshot(self, base: str) -> Qwen3Snapshot:
        """Snapshots of an untrained base share its weights."""
        model = self._base(base)
        with self._reading:
            inference = self._untrained.get(base)
            if inference is None:
                inference = self._untrained[base] = InferenceModel(model, dict(model.weights))
        return self._publish(inference)

    def load_snapshot(self, base: str, directory: Path) -> Qwen3Snapshot:
        parameters = Parameters(self._base(base), checkpoints.saved_lora(directory, base))
        checkpoints.load(directory, parameters, None)
        return self._publish(InferenceModel(parameters.base, parameters.merged()))

    def _base(self, name: str) -> BaseModel:
        with self._reading:
            if name not in self._bases:
                self._bases[name] = read_base(name, model_directory(name), self._device)
            return self._bases[name]

    def _publish(self, inference: InferenceModel) -> Qwen3Snapshot:
        sampler = Qwen3Snapshot(inference, self._scheduler)
        self._samplers.add(sampler)
        return sampler

    def close(self) -> None:
        """Everything ends: the sampling thread, the snapshots, the weights."""
        for sampler in list(self._samplers):
            sampler.close()
        self._scheduler.close()
        self._bases.clear()

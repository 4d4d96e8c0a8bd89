"""The engine: base models by name, what is trained from them, and the snapshots that are sampled from."""

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import torch

from rtl_agent.backends.engine import checkpoints
from rtl_agent.backends.engine.causal_lm.adapter import Parameters
from rtl_agent.backends.engine.causal_lm.architecture import describe
from rtl_agent.backends.engine.causal_lm.base_model import BaseModel, read_base
from rtl_agent.backends.engine.causal_lm.inference_model import InferenceModel
from rtl_agent.backends.engine.causal_lm.memory import GB
from rtl_agent.backends.engine.causal_lm.row_decoder import check_decoding
from rtl_agent.backends.engine.causal_lm.snapshot import CausalLmSnapshot
from rtl_agent.backends.engine.causal_lm.trained_model import CausalLmTrainedModel
from rtl_agent.backends.engine.contract import EngineError, Lora, ModelInfo
from rtl_agent.backends.engine.scheduler import Scheduler
from rtl_agent.backends.models import model_directory

MEMORY = 5.0
"""GB that the activations of a micro-batch may take; keys and values of running samples get half of it. Fixed, and not
what happens to be free: how examples are split decides about the last bits of a gradient."""


class CausalLmEngine:
    """`models`: what to offer; other names are read when somebody asks for them. `threads`: for the whole process."""

    def __init__(
        self,
        models: Sequence[str] = (),
        *,
        device: str = "cpu",
        threads: int = 1,
        dtype: str | None = None,
        memory: float | None = None,
    ) -> None:
        if device.partition(":")[0] not in ("cpu", "cuda"):
            raise EngineError(f"The device {device!r} is not supported; use cpu or cuda.")
        kind = torch.device(device)
        if kind.type == "cuda" and not torch.cuda.is_available():
            raise EngineError("The device is cuda, but torch finds no GPU on this machine; use cpu.")
        torch.set_num_threads(threads)
        self._device, self._dtype = kind, dtype
        self._bytes = (MEMORY if memory is None else memory) * GB
        self._offered = list(models)
        self._infos: dict[str, ModelInfo] = {}
        self._bases: dict[str, BaseModel] = {}
        self._untrained: weakref.WeakValueDictionary[str, InferenceModel] = weakref.WeakValueDictionary()
        self._reading = threading.Lock()
        self._scheduler = Scheduler()
        self._snapshots: weakref.WeakSet[CausalLmSnapshot] = weakref.WeakSet()

    def models(self) -> Sequence[ModelInfo]:
        names = dict.fromkeys([*self._offered, *self._bases])
        for name in names:
            if name not in self._infos:
                self._infos[name] = describe(name, model_directory(name), self._dtype).info
        return [self._infos[name] for name in names]

    def create(self, base: str, lora: Lora) -> CausalLmTrainedModel:
        return CausalLmTrainedModel(self._base(base), lora, self._bytes, self._publish)

    def base_snapshot(self, base: str) -> CausalLmSnapshot:
        """Snapshots of an untrained base share its weights."""
        model = self._base(base)
        with self._reading:
            inference = self._untrained.get(base)
            if inference is None:
                inference = self._untrained[base] = InferenceModel(model)
        return self._publish(inference)

    def load_snapshot(self, base: str, directory: Path) -> CausalLmSnapshot:
        parameters = Parameters(self._base(base), checkpoints.saved_lora(directory, base))
        checkpoints.load(directory, parameters, None)
        if parameters.lora.rank:
            return self._publish(InferenceModel(parameters.base, parameters.frozen()))
        return self._publish(InferenceModel(parameters.base, whole=parameters.copied()))

    def _base(self, name: str) -> BaseModel:
        with self._reading:
            if name not in self._bases:
                base = read_base(name, model_directory(name), self._device, self._dtype)
                check_decoding(InferenceModel(base))
                self._bases[name] = base
            return self._bases[name]

    def _publish(self, inference: InferenceModel) -> CausalLmSnapshot:
        snapshot = CausalLmSnapshot(inference, self._scheduler, self._bytes / 2)
        self._snapshots.add(snapshot)
        return snapshot

    def close(self) -> None:
        """Everything ends: the sampling thread, the snapshots, the weights."""
        for snapshot in list(self._snapshots):
            snapshot.close()
        self._scheduler.close()
        self._bases.clear()

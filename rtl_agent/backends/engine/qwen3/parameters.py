"""The weights that training changes: an adapter over a frozen base (LoRA), or a copy of every weight."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.checkpoints import ALPHA
from rtl_agent.backends.engine.contract import EngineError, Lora
from rtl_agent.backends.engine.qwen3.network import BaseModel
from rtl_agent.backends.engine.qwen3.rms_norm import fork, rms_norm
from rtl_agent.backends.engine.qwen3.weights import ATTENTION, EMBED, HEAD, MLP, Weights, layer


class Parameters:
    """Leaf tensors by name in `values`; `embedding`, `norm`, `fork` and `project` are what the network asks for."""

    def __init__(self, base: BaseModel, lora: Lora) -> None:
        if lora.rank < 0:
            raise EngineError(f"The LoRA rank is {lora.rank}; it must be at least 1, or 0 to train every weight.")
        self.base = base
        self.lora = lora
        self.scale = ALPHA / lora.rank if lora.rank else 0.0
        self.adapted = frozenset(_adapted(base.config.layers, lora)) if lora.rank else frozenset()
        if lora.rank and not self.adapted:
            raise EngineError("Nothing to train: attention, MLP and unembedding are all disabled.")
        self.values: Weights = _adapter(base, lora) if lora.rank else {n: w.clone() for n, w in base.weights.items()}
        for value in self.values.values():
            value.requires_grad_(True)
        self.plain = base.weights if lora.rank else self.values

    @property
    def base_name(self) -> str:
        return self.base.name

    @property
    def device(self) -> torch.device:
        return self.base.device

    @property
    def peft_targets(self) -> dict[str, list[str]]:
        return {"target_modules": sorted({module.rsplit(".", 1)[-1] for module in self.adapted})}

    @property
    def embedding(self) -> Tensor:
        return self.plain[f"{EMBED}.weight"]

    def norm(self, name: str, x: Tensor) -> Tensor:
        return rms_norm(x, self.plain[f"{name}.weight"], self.base.config.norm_eps)

    def fork(self, name: str, x: Tensor) -> tuple[Tensor, Tensor]:
        return fork(x, self.plain[f"{name}.weight"], self.base.config.norm_eps)

    def project(self, name: str, x: Tensor) -> Tensor:
        y = F.linear(x, self._weight(name))
        if name not in self.adapted:
            return y
        low = F.linear(x, self.values[f"{name}.lora_A.weight"])
        # In place: nothing on the way back reads y, and another 5 MB of logits would be fresh pages.
        return y.add_(F.linear(low, self.values[f"{name}.lora_B.weight"] * self.scale))

    def _weight(self, name: str) -> Tensor:
        if name == HEAD and self.base.config.tied:
            name = EMBED
        return self.plain[f"{name}.weight"]

    @torch.no_grad()
    def merged(self) -> Weights:
        """Every weight as it is now, adapters added in, in memory that later steps do not touch."""
        if not self.lora.rank:
            return {name: value.detach().clone() for name, value in self.values.items()}
        weights = dict(self.base.weights)
        for name in self.adapted:
            a, b = self.values[f"{name}.lora_A.weight"], self.values[f"{name}.lora_B.weight"]
            weights[f"{name}.weight"] = self._weight(name) + self.scale * (b @ a)
        return weights


def _adapted(layers: int, lora: Lora) -> list[str]:
    parts = [f"self_attn.{name}" for name in ATTENTION] if lora.attention else []
    parts += [f"mlp.{name}" for name in MLP] if lora.mlp else []
    return [f"{layer(i)}.{part}" for i in range(layers) for part in parts] + ([HEAD] if lora.unembed else [])


def _adapter(base: BaseModel, lora: Lora) -> Weights:
    generator = torch.Generator().manual_seed(lora.seed)
    values: Weights = {}
    for name in _adapted(base.config.layers, lora):
        weight = base.weights[f"{EMBED if name == HEAD and base.config.tied else name}.weight"]
        rows, columns = weight.shape
        a = torch.empty(lora.rank, columns).uniform_(-1, 1, generator=generator) / math.sqrt(columns)
        values[f"{name}.lora_A.weight"] = a.to(weight.device)
        values[f"{name}.lora_B.weight"] = torch.zeros(rows, lora.rank, device=weight.device)
    return values

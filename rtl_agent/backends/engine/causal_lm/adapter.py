"""What is trained: a LoRA adapter by PEFT over a shared base, or a float32 copy of every weight.

Adapters are float32 whatever the base is: a step of 1e-4 is lost in bfloat16. They are computed with in the base's
type, by the sampler too, so that the two differ by no more than the order of sums.
"""

import copy
import math
import types
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rtl_agent.backends.engine.causal_lm import memory
from rtl_agent.backends.engine.causal_lm.base_model import BaseModel, linears
from rtl_agent.backends.engine.checkpoints import ALPHA
from rtl_agent.backends.engine.contract import EngineError, Lora
from rtl_agent.backends.engine.optimizer import Weights

_ADAPTER = "default"
_ATTENTION = ("attn", "attention")
_HEAD = ("lm_head", "embed_out", "output")
_ROUTERS = ("gate", "router", "shared_expert_gate")  # they choose experts; LoRA leaves them alone


@dataclass(frozen=True)
class Targets:
    modules: tuple[str, ...]
    parameters: tuple[str, ...]  # experts' weights that are one tensor for all of them


@dataclass(frozen=True)
class FrozenAdapter:
    """An adapter as it was: by module (A, B) in the base's type with the scale in B; experts' weights merged."""

    factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    merged: dict[str, Tensor] = field(default_factory=dict)


def find_targets(base: BaseModel, lora: Lora) -> Targets:
    head = base.model.get_output_embeddings()
    modules, parameters = [], []
    for name, module in linears(base.model):
        parts = name.split(".")
        if module is head:
            wanted = lora.unembed
        elif parts[-1] in _ROUTERS:
            wanted = False
        else:
            wanted = lora.attention if any(word in part for part in parts for word in _ATTENTION) else lora.mlp
        if wanted:
            modules.append(name)
    for name, value in base.model.named_parameters():
        if lora.mlp and value.dim() == 3 and "experts" in name.split("."):
            parameters.append(name)
    if not modules and not parameters:
        if not (lora.attention or lora.mlp or lora.unembed):
            raise EngineError("Nothing to train: attention, MLP and unembedding are all disabled.")
        raise EngineError(f"{base.name!r} has no layers that LoRA can adapt; rank 0 trains every weight.")
    return Targets(tuple(modules), tuple(parameters))


class Parameters:
    """`model` computes with what is trained; `values` are its leaf tensors by name, PEFT's without its prefix."""

    def __init__(self, base: BaseModel, lora: Lora) -> None:
        if lora.rank < 0:
            raise EngineError(f"The LoRA rank is {lora.rank}; it must be at least 1, or 0 to train every weight.")
        self.base = base
        self.lora = lora
        self._targets = find_targets(base, lora) if lora.rank else Targets((), ())
        self.model: Any = self._adapted() if lora.rank else self._whole()
        self.values: Weights = {
            name.replace(f".{_ADAPTER}.", "."): value
            for name, value in self.model.named_parameters()
            if value.requires_grad
        }

    def _whole(self) -> Any:
        if self.base.device.type == "cpu":
            memory.to_train_all(self.base.name, self.base.info.parameters).check(
                "train a LoRA adapter (rank 32) instead"
            )
        return copy.deepcopy(self.base.model).float().requires_grad_(True)

    def _adapted(self) -> Any:
        from peft import LoraConfig, inject_adapter_in_model

        config = LoraConfig(
            r=self.lora.rank,
            lora_alpha=int(ALPHA),
            target_modules=list(self._targets.modules) or None,
            target_parameters=list(self._targets.parameters) or None,
            init_lora_weights=False,  # it would draw from torch's global generator
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = inject_adapter_in_model(config, self.base.sharing(), adapter_name=_ADAPTER)
        generator = torch.Generator().manual_seed(self.lora.seed)
        for name, value in model.named_parameters():
            value.requires_grad_("lora_" in name)
            if ".lora_A." in name:
                drawn = torch.empty(value.shape).uniform_(-1, 1, generator=generator) / math.sqrt(value.shape[1])
                value.data = drawn.to(value.device)
            elif ".lora_B." in name:
                value.data = torch.zeros(value.shape, device=value.device)
        for layer in _lora_linears(model).values():
            layer.forward = types.MethodType(_forward, layer)
        return model

    @property
    def base_name(self) -> str:
        return self.base.name

    @property
    def device(self) -> torch.device:
        return self.base.device

    @property
    def peft_targets(self) -> dict[str, list[str]]:
        targets = {"target_modules": sorted({name.rpartition(".")[2] for name in self._targets.modules})}
        if self._targets.parameters:
            targets["target_parameters"] = list(self._targets.parameters)
        return targets

    @torch.no_grad()
    def frozen(self) -> FrozenAdapter:
        """The adapter as it is now, in memory that later steps do not touch."""
        dtype = self.base.dtype
        factors = {}
        for name, layer in _lora_linears(self.model).items():
            a, b = layer.lora_A[_ADAPTER].weight, layer.lora_B[_ADAPTER].weight * layer.scaling[_ADAPTER]
            factors[name] = a.to(dtype, copy=True), b.to(dtype)
        merged = {}
        for module in self.model.modules():
            if type(module).__name__ == "ParamWrapper":
                owner = _name_of(self.model, module.get_base_layer())
                merged[f"{owner}.{module.parameter_name}"] = module.get_param() + module.get_delta_weight(_ADAPTER)
        return FrozenAdapter(factors, merged)

    def copied(self) -> Any:
        """All weights as they are now (rank 0), in the base's type."""
        copied = copy.deepcopy(self.model).requires_grad_(False)
        for value in copied.parameters():  # not copied.to(...): rotary frequencies are buffers, and stay float32
            value.data = value.data.to(self.base.dtype)
        return copied


def _forward(self: Any, x: Tensor) -> Tensor:
    """PEFT's own casts the input to the adapter's float32, which multiplies at a third of bfloat16's speed."""
    a, b = self.lora_A[_ADAPTER].weight, self.lora_B[_ADAPTER].weight * self.scaling[_ADAPTER]
    base: Tensor = self.base_layer(x)
    return base + F.linear(F.linear(x, a.to(x.dtype)), b.to(x.dtype))


def _lora_linears(model: nn.Module) -> dict[str, Any]:
    from peft.tuners.lora import Linear

    return {name: module for name, module in model.named_modules() if isinstance(module, Linear)}


def _name_of(model: nn.Module, wanted: nn.Module) -> str:
    """As it is called in the base, where no wrapper is around it."""
    name: str = next(name for name, module in model.named_modules() if module is wanted)
    return name.replace(".base_layer", "")

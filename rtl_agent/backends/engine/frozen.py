"""Weights that no longer change, laid out for inference: projections that share an input are one matrix."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.base import BaseModel
from rtl_agent.backends.engine.network import KeysValues, hidden_states
from rtl_agent.backends.engine.weights import EMBED, HEAD, NORM, Weights, layer


@dataclass(frozen=True)
class FrozenLayer:
    input_norm: Tensor
    qkv: Tensor
    qk_norm: Tensor  # (heads + kv_heads, head_dim); attention's 1/sqrt(head_dim) is in the queries' part
    out: Tensor
    post_norm: Tensor
    gate_up: Tensor
    down: Tensor


class FrozenModel:
    """Takes over `weights`; nobody else may change them."""

    @torch.no_grad()
    def __init__(self, base: BaseModel, weights: Weights) -> None:
        self.base = base
        self.config = base.config
        self.embed = weights[f"{EMBED}.weight"]
        self.norm = weights[f"{NORM}.weight"]
        # A tied head may have an adapter of its own, and then it is there by its own name.
        self.head = weights.get(f"{HEAD}.weight", self.embed)
        self._named: dict[str, Tensor] = {f"{EMBED}.weight": self.embed, f"{NORM}.weight": self.norm}
        self._named[f"{HEAD}.weight"] = self.head
        self.layers = [self._layer(layer(index), weights) for index in range(self.config.layers)]

    def _layer(self, here: str, weights: Mapping[str, Tensor]) -> FrozenLayer:
        config = self.config
        q_norm, k_norm = (weights[f"{here}.self_attn.{name}_norm.weight"] for name in "qk")
        scaled = (q_norm * config.head_dim**-0.5).expand(config.heads, -1)
        one = FrozenLayer(
            input_norm=weights[f"{here}.input_layernorm.weight"],
            qkv=self._fused(here, ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), weights),
            qk_norm=torch.cat((scaled, k_norm.expand(config.kv_heads, -1))),
            out=weights[f"{here}.self_attn.o_proj.weight"],
            post_norm=weights[f"{here}.post_attention_layernorm.weight"],
            gate_up=self._fused(here, ("mlp.gate_proj", "mlp.up_proj"), weights),
            down=weights[f"{here}.mlp.down_proj.weight"],
        )
        self._named |= {
            f"{here}.input_layernorm.weight": one.input_norm,
            f"{here}.self_attn.q_norm.weight": q_norm,
            f"{here}.self_attn.k_norm.weight": k_norm,
            f"{here}.self_attn.o_proj.weight": one.out,
            f"{here}.post_attention_layernorm.weight": one.post_norm,
            f"{here}.mlp.down_proj.weight": one.down,
        }
        return one

    def _fused(self, here: str, names: tuple[str, ...], weights: Mapping[str, Tensor]) -> Tensor:
        parts = [weights[f"{here}.{name}.weight"] for name in names]
        fused = torch.cat(parts)
        for name, part in zip(names, torch.split(fused, [len(part) for part in parts]), strict=True):
            self._named[f"{here}.{name}.weight"] = part
        return fused

    def hidden(self, tokens: Tensor, keep: list[KeysValues] | None = None) -> Tensor:
        """One sequence -> (length, width). One at a time, so that its shapes are its own whoever else waits."""

        def project(name: str, x: Tensor) -> Tensor:
            return F.linear(x, self._named[f"{name}.weight"])

        return hidden_states(self.config, self.base.rope, self._named, project, tokens.unsqueeze(0), keep)[0]

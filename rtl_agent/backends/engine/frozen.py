"""Weights that no longer change, laid out for inference.

Projections that share an input are one matrix, the norm before them is multiplied in, and matrices lie as (in, out):
16 rows through a 1M model take 1.5 ms that way, 2.1 ms as Hugging Face has them, and 32 rows 1.6 ms against 2.7.

Norms here have no weight and no factor sqrt(width) either; both are in the matrices. What is left of a norm is
x / sqrt(sum of squares + width * eps), three operations instead of seven.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rtl_agent.backends.engine.base import BaseModel
from rtl_agent.backends.engine.network import KeysValues, hidden_states
from rtl_agent.backends.engine.weights import EMBED, HEAD, NORM, Weights, layer

_QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_GATE_UP = ("mlp.gate_proj", "mlp.up_proj")


@dataclass(frozen=True)
class FrozenLayer:
    """Matrices are (in, out)."""

    qkv: Tensor
    qk_norm: Tensor  # (heads + kv_heads, head_dim); the queries' part has attention's 1/sqrt(head_dim)
    out: Tensor
    gate_up: Tensor
    down: Tensor


class FrozenModel:
    """Takes over `weights`; nobody else may change them."""

    @torch.no_grad()
    def __init__(self, base: BaseModel, weights: Weights) -> None:
        self.base = base
        self.config = base.config
        self.embed = weights[f"{EMBED}.weight"]
        # By name, for whole sequences through network.py; norms that are multiplied in have no weight there.
        self._norms: dict[str, Tensor] = {}
        self._matrices: dict[str, Tensor] = {}
        self.eps_of_width = torch.tensor((self.config.norm_eps * self.config.width) ** 0.5, device=base.device)
        self.eps_of_head = torch.tensor((self.config.norm_eps * self.config.head_dim) ** 0.5, device=base.device)
        # A tied head may have an adapter of its own, and then it is there by its own name.
        head = weights.get(f"{HEAD}.weight", self.embed)
        self.head = (head * (weights[f"{NORM}.weight"] * self.config.width**0.5)).t().contiguous()
        self.layers = [self._layer(layer(index), weights) for index in range(self.config.layers)]

    def _layer(self, here: str, weights: Weights) -> FrozenLayer:
        config = self.config
        q_norm, k_norm = (weights[f"{here}.self_attn.{name}_norm.weight"] for name in "qk")
        root = self.config.head_dim**0.5
        self._norms |= {f"{here}.self_attn.q_norm": q_norm * root, f"{here}.self_attn.k_norm": k_norm * root}
        queries, keys = q_norm.expand(config.heads, -1), (k_norm * root).expand(config.kv_heads, -1)
        return FrozenLayer(
            qkv=self._fused(here, _QKV, weights, weights[f"{here}.input_layernorm.weight"]),
            qk_norm=torch.cat((queries, keys)),
            out=self._fused(here, ("self_attn.o_proj",), weights),
            gate_up=self._fused(here, _GATE_UP, weights, weights[f"{here}.post_attention_layernorm.weight"]),
            down=self._fused(here, ("mlp.down_proj",), weights),
        )

    def _fused(self, here: str, names: tuple[str, ...], weights: Weights, norm: Tensor | None = None) -> Tensor:
        parts = [weights[f"{here}.{name}.weight"] for name in names]
        rows = torch.cat(parts)
        fused = (rows if norm is None else rows * (norm * self.config.width**0.5)).t().contiguous()
        for name, part in zip(names, torch.split(fused, [len(part) for part in parts], dim=1), strict=True):
            self._matrices[f"{here}.{name}"] = part
        return fused

    def hidden(self, tokens: Tensor, keep: list[KeysValues] | None = None) -> Tensor:
        """One sequence -> (length, width). One at a time, so that its shapes are its own whoever else waits."""

        def project(name: str, x: Tensor) -> Tensor:
            return x @ self._matrices[name]

        def norm(name: str, x: Tensor) -> Tensor:
            if name in self._norms:
                return normed(x, self.eps_of_head) * self._norms[name]
            return normed(x, self.eps_of_width)

        batch = tokens.unsqueeze(0)
        return hidden_states(self.config, self.base.rope, self.embed, norm, project, batch, keep)[0]


def normed(x: Tensor, eps: Tensor) -> Tensor:
    """An RMS norm but for its weight and a factor; `eps` is the root of what is added to the sum of squares."""
    return x / torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), eps)

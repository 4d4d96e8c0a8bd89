"""The Qwen3 network over whole sequences (training, prefill, scoring), and a base model that is read once.

Sequences are padded on the right: attention is causal, so that padding never reaches a real position.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.contract import ModelInfo
from rtl_agent.backends.engine.qwen3.config import Qwen3Config, read_config
from rtl_agent.backends.engine.qwen3.weights import NORM, Weights, layer, read_weights
from rtl_agent.backends.engine.token_sampling import TokenDecoder

Named = Callable[[str, Tensor], Tensor]
"""Applies the projection, or the norm, of that name."""

Fork = Callable[[str, Tensor], tuple[Tensor, Tensor]]
"""Its argument, and the norm of that name of it: where a layer branches off."""


@dataclass(frozen=True)
class Rope:
    """Rotations by position, (context, head_dim) each. The first half of `sin` is negative: see `rotate`."""

    cos: Tensor
    sin: Tensor


def rope_table(config: Qwen3Config, device: torch.device) -> Rope:
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    angles = torch.outer(torch.arange(config.context, dtype=torch.float32), config.rope_theta**-exponents)
    cos, sin = angles.cos(), angles.sin()
    return Rope(torch.cat((cos, cos), dim=-1).to(device), torch.cat((-sin, sin), dim=-1).to(device))


def rotate(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = heads.chunk(2, dim=-1)
    return torch.addcmul(heads * cos, torch.cat((second, first), dim=-1), sin)


@dataclass(frozen=True)
class KeysValues:
    """One layer's keys and values, (batch, kv_heads, length, head_dim)."""

    keys: Tensor
    values: Tensor


def hidden_states(
    config: Qwen3Config,
    rope: Rope,
    embedding: Tensor,
    norm: Named,
    fork: Fork,
    project: Named,
    tokens: Tensor,
    keep: list[KeysValues] | None = None,
) -> Tensor:
    """(batch, length) tokens -> (batch, length, width), normed."""
    batch, length = tokens.shape
    cos, sin = rope.cos[:length], rope.sin[:length]
    group = config.heads // config.kv_heads

    def heads(name: str, x: Tensor) -> Tensor:
        return project(name, x).view(batch, length, -1, config.head_dim)

    x = F.embedding(tokens, embedding)
    for index in range(config.layers):
        here = layer(index)
        at = f"{here}.self_attn"
        x, h = fork(f"{here}.input_layernorm", x)
        q = rotate(norm(f"{at}.q_norm", heads(f"{at}.q_proj", h)).transpose(1, 2), cos, sin)
        k = rotate(norm(f"{at}.k_norm", heads(f"{at}.k_proj", h)).transpose(1, 2), cos, sin)
        v = heads(f"{at}.v_proj", h).transpose(1, 2)
        if keep is not None:
            keep.append(KeysValues(k, v))
        if group > 1:
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + project(f"{at}.o_proj", mixed.transpose(1, 2).reshape(batch, length, -1))
        x, h = fork(f"{here}.post_attention_layernorm", x)
        gated = F.silu(project(f"{here}.mlp.gate_proj", h)) * project(f"{here}.mlp.up_proj", h)
        x = x + project(f"{here}.mlp.down_proj", gated)
    return norm(NORM, x)


@dataclass(frozen=True)
class BaseModel:
    name: str
    directory: Path
    config: Qwen3Config
    weights: Weights
    rope: Rope
    device: torch.device

    @cached_property
    def decoder(self) -> TokenDecoder:
        """Read when a request first stops on text: token-only work needs no tokenizer."""
        return TokenDecoder(self.directory)

    @property
    def info(self) -> ModelInfo:
        return model_info(self.name, self.config)


def model_info(name: str, config: Qwen3Config) -> ModelInfo:
    return ModelInfo(
        name,
        config.vocabulary,
        config.context,
        config.parameters,
        config.end_tokens,
        architecture="qwen3",
        exact=True,
    )


def read_base(name: str, directory: Path, device: torch.device) -> BaseModel:
    config = read_config(directory)
    return BaseModel(
        name, directory, config, read_weights(directory, config, device), rope_table(config, device), device
    )

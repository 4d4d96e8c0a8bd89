"""Attention as transformers' models call it: sequences by SDPA, single new tokens without copies of keys and values.

A model with grouped queries has the keys of a group repeated by transformers' own functions wherever there is a mask.
In decoding that copy is larger than all keys and values, at every step; here the queries of a group are rows of one
product instead.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "rtl_agent"


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    s_aux: Tensor | None = None,
    softcap: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """(rows, heads, length, head_dim) -> (rows, length, heads, head_dim). `s_aux`: gpt_oss's sinks, one for a head."""
    if s_aux is not None or softcap is not None:
        return _by_hand(query, key, value, attention_mask, scaling, s_aux, softcap), None
    if query.shape[2] > 1:
        found: Tensor = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, is_causal=others.get("is_causal")
        )[0]
        return found, None
    rows, heads, _, size = query.shape
    grouped = query.view(rows, key.shape[1], heads // key.shape[1], size)
    mixed = F.scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
    return mixed.reshape(rows, 1, heads, value.shape[-1]), None


def _by_hand(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None,
    sinks: Tensor | None,
    softcap: float | None,
) -> Tensor:
    rows, heads, length, size = query.shape
    kv, positions = key.shape[1], key.shape[2]
    grouped = query.reshape(rows, kv, (heads // kv) * length, size)
    scores = grouped @ key.transpose(2, 3) * (size**-0.5 if scaling is None else scaling)
    scores = scores.view(rows, heads, length, positions)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    elif length > 1:  # transformers leaves out a mask that would be the causal one
        later = torch.ones(length, positions, dtype=torch.bool, device=scores.device).triu_(positions - length + 1)
        scores = scores.masked_fill(later, float("-inf"))
    if sinks is not None:
        sink = sinks.to(scores.dtype).view(1, heads, 1, 1).expand(rows, heads, length, 1)
        weights = torch.softmax(torch.cat((scores, sink), dim=-1).float(), dim=-1)[..., :-1]
    else:
        weights = torch.softmax(scores.float(), dim=-1)
    weights = weights.to(value.dtype).view(rows, kv, (heads // kv) * length, positions)
    return (weights @ value).view(rows, heads, length, value.shape[-1]).transpose(1, 2)


def install(model: Any) -> None:
    """A model that takes attention functions by name uses ours; another one keeps its own."""
    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    if getattr(model, "_supports_attention_backend", False):
        model.config._attn_implementation = NAME
        model.config.get_text_config()._attn_implementation = NAME

"""Weights that no longer change, as they are computed with for samples and scores.

An adapter stays beside the base and is not merged into a copy of it: a server keeps eight snapshots of a client, and
eight copies of a 1.5B model are 25 GB, eight adapters of rank 32 less than 1 GB. On 8 rows of such a model in bfloat16
the adapter costs a tenth: 48 tokens for each CPU second with it, 54 without.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rtl_agent.backends.engine.causal_lm.adapter import FrozenAdapter
from rtl_agent.backends.engine.causal_lm.base_model import (
    BaseModel,
    hidden_states,
    linears,
    pack,
    put_module,
    unembedded,
)
from rtl_agent.backends.engine.causal_lm.kv_cache import LEAST_SHARED, Beginnings, KeysValues, PromptCache
from rtl_agent.backends.engine.contract import Score, ScoreRequest
from rtl_agent.backends.engine.losses import MAX_LOGITS
from rtl_agent.backends.engine.token_sampling import Pairs, best, one_token

Factors = tuple[Tensor, Tensor]


class PlainLinear(nn.Module):
    """A linear layer with its adapter beside it."""

    def __init__(self, weight: Tensor, bias: Tensor | None, factors: Factors) -> None:
        super().__init__()
        self.weight, self._bias, self._factors = nn.Parameter(weight, requires_grad=False), bias, factors

    def forward(self, x: Tensor) -> Tensor:
        a, b = self._factors
        return F.linear(x, self.weight, self._bias) + F.linear(F.linear(x, a), b)


class PackedLinear(nn.Module):
    """Over weights that oneDNN has laid out; what an adapter gives is added by the same kernel."""

    def __init__(self, packed: Tensor, bias: Tensor | None, factors: Factors | None, dtype: torch.dtype) -> None:
        super().__init__()
        self._packed, self._bias, self._factors = packed, bias, factors
        self.weight = nn.Parameter(torch.empty(0, dtype=dtype), requires_grad=False)  # some models ask for its type

    def forward(self, x: Tensor) -> Tensor:
        ops = torch.ops.mkldnn._linear_pointwise
        found: Tensor
        if self._factors is None:
            found = ops(x, self._packed, self._bias, "none", [], "")
        else:
            a, b = self._factors
            found = ops.binary(x, F.linear(F.linear(x, a), b), self._packed, self._bias, "add")
        return found


@dataclass(frozen=True)
class Prefilled:
    """A prompt's keys and values by layer, (kv_heads, length, head_dim), and the logits after it."""

    keys: list[Tensor]
    values: list[Tensor]
    logits: Tensor
    length: int

    @property
    def numbers(self) -> int:
        return sum(part.numel() for part in (*self.keys, *self.values, self.logits))


class InferenceModel:
    """Of a base, with an adapter beside it; or of `whole`, weights of its own."""

    def __init__(self, base: BaseModel, adapter: FrozenAdapter | None = None, whole: Any = None) -> None:
        self.base = base
        self._beginnings = Beginnings()  # of what was read last
        adapter = adapter or FrozenAdapter()
        self.model = base.sharing() if whole is None else whole
        for name, linear in linears(self.model):
            factors = adapter.factors.get(name)
            if base.packs:
                packed = base.packed(name, linear.weight) if whole is None else pack(linear.weight)
                put_module(self.model, name, PackedLinear(packed, linear.bias, factors, linear.weight.dtype))
            elif factors is not None:
                put_module(self.model, name, PlainLinear(linear.weight.detach(), linear.bias, factors))
        for name, value in adapter.merged.items():
            owner, _, last = name.rpartition(".")
            setattr(self.model.get_submodule(owner), last, nn.Parameter(value, requires_grad=False))

    def logits(self, hidden: Tensor) -> Tensor:
        return unembedded(self.model, hidden)

    def prefill(self, prompt: Sequence[int]) -> Prefilled:
        hidden, cache, _ = self._read(prompt, len(prompt) - 1)
        return Prefilled(cache.keys, cache.values, self.logits(hidden[-1:])[0], len(prompt))

    def _read(self, tokens: Sequence[int], wanted: int) -> tuple[Tensor, PromptCache, int]:
        """Hidden states of all positions from `wanted` on at least, and how many were skipped.

        Prompts have a system message in common, and the answers to one problem come one by one, each behind the same
        prompt: the beginning that a sequence shares with one before is not computed again.
        """
        shares = wanted >= LEAST_SHARED
        read, length = self._beginnings.longest(tokens, wanted) if shares else (None, 0)
        cache = PromptCache(read)
        rest = torch.tensor(list(tokens[length:]), device=self.base.device)[None]
        hidden = hidden_states(self.model, rest, past_key_values=cache, use_cache=True)[0]
        if shares:
            self._beginnings.keep(tokens[:wanted], KeysValues(cache.keys, cache.values))
        return hidden, cache, length

    def score(self, request: ScoreRequest) -> Score:
        tokens = torch.tensor(list(request.tokens), device=self.base.device)
        # The logprob of token i comes from position i - 1; token 0 has none.
        first = 0 if request.last is None else max(0, len(tokens) - request.last)
        predicted = max(first, 1)
        hidden, _, skipped = self._read(request.tokens, predicted - 1)
        logprobs: list[float | None] = [None] * (predicted - first)
        topk: list[Pairs | None] = [None] * (predicted - first)
        ranks: list[int | None] = [None] * (predicted - first)
        rows = max(1, MAX_LOGITS // self.base.info.vocabulary)
        for start in range(predicted, len(tokens), rows):
            targets = tokens[start : start + rows]
            logits = self.logits(hidden[start - 1 - skipped : start - 1 - skipped + len(targets)])
            total = logits.logsumexp(dim=-1, keepdim=True)
            own = logits.gather(1, targets[:, None])
            logprobs += (own - total)[:, 0].tolist()
            if request.topk:
                topk += best(logits - total, request.topk)
            if request.ranks:
                ranks += ((logits > own).sum(dim=-1) + 1).tolist()
        then = None if request.then is None else one_token(self.logits(hidden[-1:]), request.then)
        return Score(logprobs, topk if request.topk else (), then, ranks if request.ranks else ())

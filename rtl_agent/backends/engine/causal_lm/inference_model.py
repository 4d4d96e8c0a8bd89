"""Weights that no longer change, as they are computed with for samples and scores.

An adapter stays beside the base and is not merged into a copy of it: a server keeps eight snapshots of a client, and
eight copies of a 1.5B model are 25 GB, eight adapters of rank 32 less than 1 GB. On 8 rows of such a model in bfloat16
the adapter costs a tenth: 48 tokens for each CPU second with it, 54 without.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
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
from rtl_agent.backends.engine.causal_lm.shared_rows import groups, in_one_row
from rtl_agent.backends.engine.contract import Ints, Score, ScoreRequest
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

    def score(self, requests: Sequence[ScoreRequest]) -> list[Score]:
        """Whole sequences that begin alike in one row; one whose beginning is not asked about behind what was read."""
        found: list[Score | None] = [None] * len(requests)
        rows = (
            groups([request.tokens for request in requests])
            if self.base.shares
            else [[at] for at in range(len(requests))]
        )
        for members in rows:
            if len(members) == 1:
                request = requests[members[0]]
                hidden, _, skipped = self._read(request.tokens, _predicted(request) - 1)
                scores = self._scores([request], [np.arange(len(request.tokens)) - skipped], hidden)
            else:
                row = in_one_row([requests[at].tokens for at in members], self.base.device)
                hidden = hidden_states(self.model, row.tokens, use_cache=False, **row.placed)[0]
                scores = self._scores([requests[at] for at in members], row.places, hidden)
            for at, score in zip(members, scores, strict=True):
                found[at] = score
        return [score for score in found if score is not None]

    def _scores(self, requests: Sequence[ScoreRequest], places: Sequence[Ints], hidden: Tensor) -> list[Score]:
        """`places`: of each request's positions among the hidden states. What several of them predict at one place is
        computed once."""
        asked = []  # the logprob of token i comes from position i - 1; token 0 has none
        for request, where in zip(requests, places, strict=True):
            first = _predicted(request)
            asked.append(np.stack((where[first - 1 : -1], np.asarray(request.tokens[first:], np.int64)), axis=1))
        distinct, inverse = np.unique(np.concatenate(asked), axis=0, return_inverse=True)
        at, targets = torch.from_numpy(distinct).to(hidden.device).unbind(1)
        topk, ranks = max(request.topk for request in requests), any(request.ranks for request in requests)
        rows = max(1, MAX_LOGITS // self.base.info.vocabulary)
        logprobs, pairs, places_of = list[float](), list[Pairs](), list[int]()
        for piece in torch.split(torch.arange(len(at), device=hidden.device), rows):
            logits = self.logits(hidden[at[piece]])
            total = logits.logsumexp(dim=-1, keepdim=True)
            own = logits.gather(1, targets[piece][:, None])
            logprobs += (own - total)[:, 0].tolist()
            if topk:
                pairs += best(logits - total, topk)
            if ranks:
                places_of += ((logits > own).sum(dim=-1) + 1).tolist()
        found, start = [], 0
        for request, where, one in zip(requests, places, asked, strict=True):
            mine = inverse.reshape(-1)[start : start + len(one)].tolist()
            start += len(one)
            none = [None] * (1 if _predicted(request) > _first(request) else 0)
            then = None if request.then is None else one_token(self.logits(hidden[where[-1:]]), request.then)
            found.append(
                Score(
                    [*none, *(logprobs[at] for at in mine)],
                    [*none, *(pairs[at][: request.topk] for at in mine)] if request.topk else (),
                    then,
                    [*none, *(places_of[at] for at in mine)] if request.ranks else (),
                )
            )
        return found


def _first(request: ScoreRequest) -> int:
    return 0 if request.last is None else max(0, len(request.tokens) - request.last)


def _predicted(request: ScoreRequest) -> int:
    """The first token that has a logprob and is asked about."""
    return max(_first(request), 1)

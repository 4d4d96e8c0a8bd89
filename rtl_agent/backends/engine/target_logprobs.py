"""Logprobs of target tokens from hidden states, without keeping a vocabulary-sized row for every position."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

# 64 MB of logits at a time; beyond that they are computed again on the way back instead of kept.
MAX_LOGITS = 1 << 24


class _Gathered(torch.autograd.Function):
    """log_softmax and gather in one: the gradient is built in place, in one pass over the logits."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        total = logits.logsumexp(dim=-1, keepdim=True)
        ctx.save_for_backward(logits, total, targets)
        return logits.gather(-1, targets) - total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        logits, total, targets = ctx.saved_tensors
        (gradient,) = gradients
        result = torch.sub(logits, total).exp_().mul_(-gradient.sum(dim=-1, keepdim=True))
        return result.scatter_add_(-1, targets, gradient), None


def target_logprobs(hidden: Tensor, unembed: Callable[[Tensor], Tensor], targets: Tensor, vocabulary: int) -> Tensor:
    """(positions, width), targets (positions, K) -> (positions, K)."""

    def part(hidden: Tensor, targets: Tensor) -> Tensor:
        result: Tensor = _Gathered.apply(unembed(hidden), targets)  # type: ignore[no-untyped-call]  # torch leaves it so
        return result

    rows = max(1, MAX_LOGITS // vocabulary)
    if len(hidden) <= rows:
        return part(hidden, targets)
    pieces = zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
    return torch.cat([checkpoint(part, *piece, use_reentrant=False) for piece in pieces])

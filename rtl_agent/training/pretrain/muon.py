"""Muon for matrices, AdamW for the rest.

Muon steps along the momentum with its singular values made equal, so that rare directions learn as fast as common ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

# Quintic Newton-Schulz iteration of the published optimiser: five steps bring every singular value near 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """The nearest matrix whose singular values are all about 1."""
    x: Tensor = matrix / (matrix.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    for _ in range(steps):
        gram = x @ x.T
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    return x.T if tall else x


@dataclass(frozen=True)
class Rates:
    """Learning rates at their peak."""

    matrices: float = 0.02
    rest: float = 3e-3
    momentum: float = 0.95
    weight_decay: float = 0.01


class MuonAdamW:
    """Embeddings and norms go to AdamW, every other matrix to Muon."""

    def __init__(self, weights: Mapping[str, Tensor], rates: Rates) -> None:
        self._rates = rates
        self._matrices = {name: one for name, one in weights.items() if one.ndim == 2 and "embed" not in name}
        self._momentum = {name: torch.zeros_like(one) for name, one in self._matrices.items()}
        rest: Iterable[Tensor] = [one for name, one in weights.items() if name not in self._matrices]
        self._adam = torch.optim.AdamW(rest, rates.rest, betas=(0.9, 0.95), weight_decay=0.0)

    @torch.no_grad()
    def step(self, scale: float) -> None:
        """`scale` is the schedule's share of the peak rates; gradients are zero afterwards."""
        for name, weight in self._matrices.items():
            if weight.grad is None:
                continue
            momentum = self._momentum[name].lerp_(weight.grad, 1 - self._rates.momentum)
            direction = orthogonal(weight.grad.lerp(momentum, self._rates.momentum))
            rate = self._rates.matrices * scale
            weight.mul_(1 - rate * self._rates.weight_decay)
            weight.add_(direction, alpha=-rate * max(1.0, weight.size(0) / weight.size(1)) ** 0.5)
            weight.grad = None
        for group in self._adam.param_groups:
            group["lr"] = self._rates.rest * scale
        self._adam.step()
        self._adam.zero_grad()

    def state(self) -> dict[str, object]:
        return {"momentum": self._momentum, "adam": self._adam.state_dict()}

    def restore(self, state: dict[str, object]) -> None:
        momentum = state["momentum"]
        assert isinstance(momentum, dict)
        for name, one in momentum.items():
            self._momentum[name].copy_(one)
        self._adam.load_state_dict(state["adam"])  # type: ignore[arg-type]  # as it came from state()

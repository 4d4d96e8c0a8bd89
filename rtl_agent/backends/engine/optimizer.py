"""Adam with decoupled weight decay. Its state is plain tensors, so that a resumed run continues bit for bit."""

from collections.abc import Mapping

import torch
from torch import Tensor

from rtl_agent.backends.engine.contract import Adam, EngineError

Weights = dict[str, Tensor]


class Optimizer:
    def __init__(self, values: Weights) -> None:
        self._values = values
        self.steps = 0
        self.first: Weights = {name: torch.zeros_like(value) for name, value in values.items()}
        self.second: Weights = {name: torch.zeros_like(value) for name, value in values.items()}

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Tensor], adam: Adam) -> dict[str, float]:
        """`gradients` may be changed. A gradient that is not finite changes nothing else."""
        names = list(self._values)
        values = [self._values[name] for name in names]
        grads = [gradients[name] for name in names]
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads))))
        if not norm < float("inf"):
            raise EngineError("The gradient is not finite; the step was skipped and the weights are unchanged.")
        if 0 < adam.grad_clip_norm < norm:
            torch._foreach_mul_(grads, adam.grad_clip_norm / (norm + 1e-6))
        self.steps += 1
        first, second = [self.first[name] for name in names], [self.second[name] for name in names]
        torch._foreach_lerp_(first, grads, 1 - adam.beta1)
        torch._foreach_mul_(second, adam.beta2)
        torch._foreach_addcmul_(second, grads, grads, 1 - adam.beta2)
        scale = torch._foreach_div(second, 1 - adam.beta2**self.steps)
        torch._foreach_sqrt_(scale)
        torch._foreach_add_(scale, adam.eps)
        if adam.weight_decay:
            torch._foreach_mul_(values, 1 - adam.learning_rate * adam.weight_decay)
        torch._foreach_addcdiv_(values, first, scale, -adam.learning_rate / (1 - adam.beta1**self.steps))
        return {"grad_norm": norm, "learning_rate": adam.learning_rate, "optimizer_step": float(self.steps)}

    def restore(self, steps: int, first: Weights, second: Weights) -> None:
        self.steps, self.first, self.second = steps, first, second

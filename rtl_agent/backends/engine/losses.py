"""Logprobs of target tokens from hidden states, and the Tinker API's losses on them. Each loss is a sum over tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rtl_agent.backends.engine.contract import EngineError

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


def gathered_logprobs(logits: Tensor, targets: Tensor) -> Tensor:
    """(positions, vocabulary), targets (positions, K) -> (positions, K)."""
    result: Tensor = _Gathered.apply(logits, targets)  # type: ignore[no-untyped-call]  # torch leaves it so
    return result


def target_logprobs(hidden: Tensor, unembed: Callable[[Tensor], Tensor], targets: Tensor, vocabulary: int) -> Tensor:
    """(positions, width), targets (positions, K) -> (positions, K)."""

    def part(hidden: Tensor, targets: Tensor) -> Tensor:
        return gathered_logprobs(unembed(hidden), targets)

    rows = max(1, MAX_LOGITS // vocabulary)
    if len(hidden) <= rows:
        return part(hidden, targets)
    pieces = zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
    return torch.cat([checkpoint(part, *piece, use_reentrant=False) for piece in pieces])


Arrays = Mapping[str, Tensor]
Config = Mapping[str, float]


@dataclass(frozen=True)
class Loss:
    """`compute`: logprobs of the targets, the other arrays, the settings -> loss by token, before the mask.

    `factors`: a token where all of these arrays are 0 has no gradient; empty where every token has one. `optional`:
    arrays of one value for each token that may be there.
    """

    compute: Callable[[Tensor, Arrays, Config], Tensor]
    arrays: tuple[str, ...]
    defaults: Config
    factors: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def live(self, arrays: Arrays) -> Tensor:
        """(positions,): where there is a gradient. The rest, prompts mostly, need no way back through the head."""
        first = arrays[self.arrays[0]]
        given = [arrays[name] for name in self.factors if name in arrays]
        found = torch.full((len(first),), not given, dtype=torch.bool, device=first.device)
        for array in given:
            found |= (array != 0).any(dim=-1)
        return found & (arrays["mask"] != 0).any(dim=-1) if "mask" in arrays else found


def _cross_entropy(logprobs: Tensor, arrays: Arrays, config: Config) -> Tensor:
    """With logprobs and advantages beside the weights, the first target of each position is the sampled token, and the
    policy's truncated importance sampling is in the same pass. Tinker's own server has no such thing."""
    loss = -logprobs * arrays["weights"]
    if "advantages" not in arrays:
        return loss
    sampled = {"logprobs": arrays["logprobs"], "advantages": arrays["advantages"]}
    bounds = {"clip_low_threshold": 0.0, "clip_high_threshold": config["clip_high_threshold"]}
    policy = _cispo(logprobs[:, :1], sampled, bounds)
    return torch.cat([loss[:, :1] + policy, loss[:, 1:]], dim=1)


def _importance_sampling(logprobs: Tensor, arrays: Arrays, config: Config) -> Tensor:
    return -torch.exp(logprobs - arrays["logprobs"]) * arrays["advantages"]


def _ppo(logprobs: Tensor, arrays: Arrays, config: Config) -> Tensor:
    ratio = torch.exp(logprobs - arrays["logprobs"])
    clipped = ratio.clamp(config["clip_low_threshold"], config["clip_high_threshold"])
    return -torch.minimum(ratio * arrays["advantages"], clipped * arrays["advantages"])


def _cispo(logprobs: Tensor, arrays: Arrays, config: Config) -> Tensor:
    ratio = torch.exp(logprobs.detach() - arrays["logprobs"])
    clipped = ratio.clamp(config["clip_low_threshold"], config["clip_high_threshold"])
    return -clipped * logprobs * arrays["advantages"]


def _dro(logprobs: Tensor, arrays: Arrays, config: Config) -> Tensor:
    moved = logprobs - arrays["logprobs"]
    return -(logprobs * arrays["advantages"] - 0.5 * config["beta"] * moved.square())


_POLICY = ("logprobs", "advantages")

LOSSES: Mapping[str, Loss] = {
    "cross_entropy": Loss(
        _cross_entropy, ("weights",), {"clip_high_threshold": 4.0}, ("weights", "advantages"), optional=_POLICY
    ),
    "importance_sampling": Loss(_importance_sampling, _POLICY, {}, ("advantages",)),
    "ppo": Loss(_ppo, _POLICY, {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}, ("advantages",)),
    # Tinker caps the coefficient from above only: it never takes a token's gradient away.
    "cispo": Loss(_cispo, _POLICY, {"clip_low_threshold": 0.0, "clip_high_threshold": 4.0}, ("advantages",)),
    "dro": Loss(_dro, _POLICY, {"beta": 0.05}),
}


def find_loss(name: str) -> Loss:
    if name not in LOSSES:
        raise EngineError(f"The loss {name!r} is not supported; use one of {', '.join(LOSSES)}.")
    return LOSSES[name]


def complete(name: str, loss: Loss, config: Config) -> Config:
    """The settings with Tinker's defaults where nothing was said. An unknown name is an error: it would do nothing."""
    unknown = sorted(set(config) - set(loss.defaults))
    if unknown:
        known = ", ".join(loss.defaults) or "none"
        raise EngineError(f"Loss {name!r} has no setting {unknown[0]!r} (it has: {known}).")
    return {**loss.defaults, **config}

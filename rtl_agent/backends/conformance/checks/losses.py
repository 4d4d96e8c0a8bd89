"""Every loss against a plain torch computation: its value from logprobs, its gradient by the custom loss."""

from collections.abc import Callable, Mapping

import torch
from tinker import types

from rtl_agent.backends.conformance.subject import (
    NEARLY_SGD,
    PROMPT,
    TARGETS,
    Subject,
    cross_entropy_datum,
    datum,
    expect,
    expect_close,
    logprobs_of,
    loss_sum,
)

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
ADVANTAGES = (1.0, -0.5, 2.0, -1.5, 0.7, 0.0)
# Offsets to the trainer's own logprobs: ratios inside and outside every clipping range.
OFFSETS = (0.0, 0.4, -0.5, 0.1, -0.05, 0.3)


def _importance_sampling(logprobs: torch.Tensor, sampled: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    return -(torch.exp(logprobs - sampled) * advantages).sum()


def _ppo(logprobs: torch.Tensor, sampled: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    ratio = torch.exp(logprobs - sampled)
    return -torch.minimum(ratio * advantages, ratio.clamp(0.9, 1.3) * advantages).sum()


def _cispo(logprobs: torch.Tensor, sampled: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    ratio = torch.exp(logprobs - sampled).detach().clamp(0.9, 1.3)
    return -(ratio * logprobs * advantages).sum()


def _dro(logprobs: torch.Tensor, sampled: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    return -(logprobs * advantages - 0.5 * 0.3 * (logprobs - sampled) ** 2).sum()


async def _agrees(subject: Subject, name: types.LossFnType, config: Mapping[str, float], loss: Loss) -> None:
    served, plain = await subject.trained(), await subject.trained()
    logprobs = torch.tensor(await logprobs_of(served))
    sampled, advantages = logprobs + torch.tensor(OFFSETS), torch.tensor(ADVANTAGES)
    data = [datum(PROMPT, target_tokens=list(TARGETS), logprobs=sampled.tolist(), advantages=list(ADVANTAGES))]
    passed = await (await served.forward_backward_async(data, name, dict(config)))
    expect_close(loss_sum(passed.metrics), loss(logprobs, sampled, advantages).item(), f"{name}: loss:sum", 1e-3)
    expect_close(passed.loss_fn_outputs[0]["logprobs"].to_numpy(), logprobs.numpy(), f"{name}: logprobs")

    def custom(data: list[types.Datum], all_logprobs: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, float]]:
        return loss(all_logprobs[0], sampled, advantages), {}

    await (await plain.forward_backward_custom_async([cross_entropy_datum()], custom))
    for model in (served, plain):
        await (await model.optim_step_async(NEARLY_SGD))
    stepped = await logprobs_of(served)
    expect_close(stepped, await logprobs_of(plain), f"{name}: logprobs after a step on its gradient")
    expect(float(abs(stepped - logprobs.numpy()).max()) > 1e-3, f"{name}: the step did not move the model")


async def check_loss_cross_entropy(subject: Subject) -> None:
    """cross_entropy is the weighted sum of negative logprobs."""
    model = await subject.trained()
    weights = [0.0, 1.0, 0.5, 2.0, 1.0, 0.25]
    logprobs = await logprobs_of(model)
    passed = await (await model.forward_async([cross_entropy_datum(weights=weights)], "cross_entropy"))
    expect_close(loss_sum(passed.metrics), -(logprobs * weights).sum(), "loss:sum", 1e-3)


async def check_loss_importance_sampling(subject: Subject) -> None:
    """importance_sampling: value and gradient."""
    await _agrees(subject, "importance_sampling", {}, _importance_sampling)


async def check_loss_ppo(subject: Subject) -> None:
    """ppo: value and gradient, clipped on both sides."""
    await _agrees(subject, "ppo", {"clip_low_threshold": 0.9, "clip_high_threshold": 1.3}, _ppo)


async def check_loss_cispo(subject: Subject) -> None:
    """cispo: value and gradient; the clipped ratio carries no gradient."""
    await _agrees(subject, "cispo", {"clip_low_threshold": 0.9, "clip_high_threshold": 1.3}, _cispo)


async def check_loss_dro(subject: Subject) -> None:
    """dro: value and gradient."""
    await _agrees(subject, "dro", {"beta": 0.3}, _dro)


async def check_soft_targets(subject: Subject) -> None:
    """cross_entropy takes (N, K) targets and weights, and returns (N, K) logprobs."""
    model = await subject.trained()
    second = [31, 9, 4, 12, 3, 27]
    columns = [await logprobs_of(model, targets=targets) for targets in (TARGETS, second)]
    weights = torch.tensor([[0.75, 0.25], [1.0, 0.0], [0.5, 0.5], [0.0, 0.0], [0.1, 0.9], [0.6, 0.4]])
    targets = torch.tensor([TARGETS, second]).T.contiguous()
    passed = await (await model.forward_async([datum(PROMPT, target_tokens=targets, weights=weights)], "cross_entropy"))
    logprobs = torch.stack([torch.tensor(column) for column in columns], 1)
    expect_close(passed.loss_fn_outputs[0]["logprobs"].to_numpy(), logprobs.numpy(), "logprobs")
    expect_close(loss_sum(passed.metrics), -(logprobs * weights).sum().item(), "loss:sum", 1e-3)


async def check_sparse_soft_targets(subject: Subject) -> None:
    """(N, K) arrays that are mostly zero travel in sparse form and mean the same."""
    model = await subject.trained()
    targets, weights = torch.zeros((6, 16), dtype=torch.int64), torch.zeros((6, 16))
    targets[:, 3], weights[:, 3] = torch.tensor(TARGETS), torch.tensor([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    passed = await (await model.forward_async([datum(PROMPT, target_tokens=targets, weights=weights)], "cross_entropy"))
    wanted = -(torch.tensor(await logprobs_of(model)) * weights[:, 3]).sum().item()
    expect_close(loss_sum(passed.metrics), wanted, "loss:sum", 1e-3)


async def check_custom_loss(subject: Subject) -> None:
    """forward_backward_custom with the loss of cross_entropy trains like cross_entropy, and returns its own metrics."""
    custom, plain = await subject.trained(), await subject.trained()

    def loss(data: list[types.Datum], logprobs: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, float]]:
        total = -logprobs[0].sum()
        return total, {"mine": 3.0}

    passed = await (await custom.forward_backward_custom_async([cross_entropy_datum()], loss))
    wanted = await (await plain.forward_backward_async([cross_entropy_datum()], "cross_entropy"))
    expect(passed.metrics.get("mine") == 3.0, f"the loss's own metric is not among {sorted(passed.metrics)}")
    expect_close(loss_sum(passed.metrics), loss_sum(wanted.metrics), "loss:sum", 1e-3)
    for model in (custom, plain):
        await (await model.optim_step_async(NEARLY_SGD))
    expect_close(await logprobs_of(custom), await logprobs_of(plain), "logprobs after a step")

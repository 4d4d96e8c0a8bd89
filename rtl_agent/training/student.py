"""The model that is trained: passes, optimizer steps and their learning rate, snapshots and checkpoints."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import tinker
from tinker.types import LossFnType

from rtl_agent.training.config import Config, OptimConfig
from rtl_agent.training.errors import LossNotFinite, TrainingError
from rtl_agent.training.objective import Floats, TrainingBatch, array

Result = tinker.ForwardBackwardOutput
During = Callable[[str], AbstractContextManager[None]]
UNCAPPED = 1e9
PUBLISHED_SECONDS = 30 * 24 * 3600  # a run that is resumed later than that samples its first batches by newer weights


@dataclass(frozen=True)
class Passes:
    """Submitted and on their way: the passes of one group. None where there was nothing to train on."""

    policy: asyncio.Task[Result] | None = None
    imitation: asyncio.Task[Result] | None = None
    merged: bool = False
    data: Sequence[tinker.Datum] = ()  # of a merged pass whose ratios the server weighs


@dataclass(frozen=True)
class PolicyLoss:
    """By name, as the server computes it."""

    name: LossFnType
    settings: dict[str, float] | None = None

    @property
    def cap(self) -> float:
        """Of a token's ratio."""
        return (self.settings or {}).get("clip_high_threshold", UNCAPPED)

    @staticmethod
    def of(config: Config) -> "PolicyLoss":
        """On tokens of older weights, importance sampling with its ratios truncated.

        Its gradient is ratio * advantage * grad log p, and so is that of cispo, but for its cap. Ratios are of single
        tokens against the weights that sampled them, whatever their age. Without a cap one token of a ratio of 50
        weighs as much as a batch; ppo's clipping would take the gradient of such a token away.
        """
        cap = config.overlap.ratio_cap
        if config.objective.loss_fn != "importance_sampling" or config.overlap.is_on_policy or not cap:
            return PolicyLoss(config.objective.loss_fn)
        return PolicyLoss("cispo", {"clip_low_threshold": 0.0, "clip_high_threshold": cap})


@dataclass(frozen=True)
class Student:
    """Thin over tinker's training client: what is submitted in order is done in order."""

    client: tinker.TrainingClient
    loss: PolicyLoss
    grad_clip_norm: float
    forget_path: Callable[[str], Awaitable[None]] | None = None
    spent: Callable[[int], None] = lambda tokens: None  # is told the tokens of each pass

    async def submit(self, batch: TrainingBatch, during: During) -> Passes:
        """Queue a group's passes; gradients add up until `step`."""
        policy = imitation = None
        if batch.policy:
            policy = await self._pass(batch.policy, self.loss, during)
        if batch.imitation:
            weighed = batch.merged and "advantages" in batch.imitation[0].loss_fn_inputs
            settings = {"clip_high_threshold": self.loss.cap} if weighed else None
            imitation = await self._pass(batch.imitation, PolicyLoss("cross_entropy", settings), during)
            return Passes(policy, imitation, batch.merged, batch.imitation if weighed else ())
        return Passes(policy, imitation, batch.merged)

    async def _pass(self, data: Sequence[tinker.Datum], loss: PolicyLoss, during: During) -> asyncio.Task[Result]:
        """In the server's queue when this returns; the task waits for the result, and the clock with it."""
        queued = await self.client.forward_backward_async(list(data), loss_fn=loss.name, loss_fn_config=loss.settings)
        self.spent(sum(datum.model_input.length for datum in data))

        async def result() -> Result:
            with during("train"):
                done: Result = await queued
                return done

        return asyncio.create_task(result())

    async def step(self, learning_rate: float) -> Any:
        """Queue an optimiser step."""
        adam = tinker.AdamParams(
            learning_rate=learning_rate, beta1=0.9, beta2=0.95, eps=1e-8, grad_clip_norm=self.grad_clip_norm
        )
        return await self.client.optim_step_async(adam)

    async def finish(self, passes: Sequence[Passes]) -> tuple[list[Floats], dict[str, float]]:
        """The trainer's logprobs of every policy datum, in order, and the losses as token sums."""
        logprobs: list[Floats] = []
        losses = {"loss/policy": 0.0, "loss/imitation": 0.0}
        for one in passes:
            if one.policy is not None:
                done = await one.policy
                logprobs += [np.asarray(out["logprobs"].to_numpy(), np.float32) for out in done.loss_fn_outputs]
                losses["loss/policy"] += finite(done, "policy")
            if one.imitation is not None:
                done = await one.imitation
                losses["loss/imitation"] += finite(done, "imitation")
                ensure_weighed(done, one.data, self.loss.cap)
                if one.merged:  # the first target is the sampled token
                    found = (np.asarray(out["logprobs"].to_numpy(), np.float32) for out in done.loss_fn_outputs)
                    logprobs += [targets[:, 0] for targets in found]
        return logprobs, losses

    async def snapshot(self) -> tinker.SamplingClient:
        """The weights as they are now, to sample from."""
        return await self.client.save_weights_and_get_sampling_client_async()

    async def publish(self, name: str) -> tuple[tinker.SamplingClient, str]:
        """The same under a name: a later process can sample from them too. Their path is the second part."""
        saved = await self.client.save_weights_for_sampler_async(name, ttl_seconds=PUBLISHED_SECONDS)
        path = (await saved).path
        return await self.published(path), path

    async def published(self, path: str) -> tinker.SamplingClient:
        return await self.client.create_sampling_client_async(path)

    async def forget(self, path: str) -> None:
        """Weights that nobody will ask for again. A server that cannot delete keeps them until their time is over."""
        if self.forget_path is not None:
            with suppress(tinker.TinkerError):
                await self.forget_path(path)

    async def save(self, name: str) -> tuple[str, str]:
        """Paths of the whole state and of weights to sample from."""
        state = await self.client.save_state_async(name, overwrite=True)
        sampler = await self.client.save_weights_for_sampler_async(name)
        return (await state).path, (await sampler).path


def ensure_weighed(done: Result, data: Sequence[tinker.Datum], cap: float) -> None:
    """TrainingError if a server has passed over the advantages beside the soft targets: its loss is without them."""
    imitation = policy = 0.0
    for out, datum in zip(done.loss_fn_outputs, data, strict=False):
        logprobs = np.asarray(out["logprobs"].to_numpy(), np.float64)
        weights = np.asarray(datum.loss_fn_inputs["weights"].to_numpy(), np.float64)
        advantages, then = array(datum, "advantages"), array(datum, "logprobs")
        imitation -= float((np.where(weights != 0, logprobs, 0.0) * weights).sum())
        now = np.where(advantages != 0, logprobs[:, 0], 0.0)
        ratios = np.minimum(np.exp(np.minimum(now - then, 50.0)), cap)
        policy -= float((ratios * advantages * now).sum())
    found = float(done.metrics.get("loss:sum", 0.0))
    told = abs(policy) > 1e-3 * (1.0 + abs(found))
    if told and abs(found - imitation) < abs(found - imitation - policy):
        raise TrainingError(
            "this server takes no advantages beside soft targets, as one_pass with max_steps_off_policy needs it: set "
            "one_pass=false"
        )


def finite(done: Result, name: str) -> float:
    loss = float(done.metrics.get("loss:sum", 0.0))
    if not math.isfinite(loss):
        raise LossNotFinite(f"the {name} loss")
    return loss


def learning_rate(step: int, total: int, optim: OptimConfig) -> float:
    """Of one step: rises over the warm-up, then stays, or falls to 0 just after the last step."""
    if step < optim.warmup_steps:
        return optim.learning_rate * (step + 1) / (optim.warmup_steps + 1)
    if optim.lr_schedule == "constant":
        return optim.learning_rate
    done = (step - optim.warmup_steps) / max(1, total - optim.warmup_steps)
    return optim.learning_rate * (1 - done if optim.lr_schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done)))

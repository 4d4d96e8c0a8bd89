"""The model that is trained: passes, optimizer steps and their learning rate, snapshots and checkpoints."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tinker
from tinker.types import LossFnType

from rtl_agent.training.config import LossFn, OptimConfig
from rtl_agent.training.errors import LossNotFinite
from rtl_agent.training.metrics import Clock
from rtl_agent.training.objective import Floats, TrainingBatch

Result = tinker.ForwardBackwardOutput


@dataclass(frozen=True)
class Passes:
    """Submitted and on their way: the passes of one group. None where there was nothing to train on."""

    policy: asyncio.Task[Result] | None = None
    imitation: asyncio.Task[Result] | None = None
    merged: bool = False


@dataclass(frozen=True)
class Student:
    """Thin over tinker's training client: what is submitted in order is done in order."""

    client: tinker.TrainingClient
    loss_fn: LossFn
    grad_clip_norm: float
    spent: Callable[[int], None] = lambda tokens: None  # is told the tokens of each pass

    async def submit(self, batch: TrainingBatch, clock: Clock) -> Passes:
        """Queue a group's passes; gradients add up until `step`."""
        policy = imitation = None
        if batch.policy:
            policy = await self._pass(batch.policy, self.loss_fn, clock)
        if batch.imitation:
            imitation = await self._pass(batch.imitation, "cross_entropy", clock)
        return Passes(policy, imitation, batch.merged)

    async def _pass(self, data: Sequence[tinker.Datum], loss_fn: LossFnType, clock: Clock) -> asyncio.Task[Result]:
        """In the server's queue when this returns; the task waits for the result, and the clock with it."""
        queued = await self.client.forward_backward_async(list(data), loss_fn=loss_fn)
        self.spent(sum(datum.model_input.length for datum in data))

        async def result() -> Result:
            with clock.during("train"):
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
                if one.merged:  # the first target is the sampled token
                    found = (np.asarray(out["logprobs"].to_numpy(), np.float32) for out in done.loss_fn_outputs)
                    logprobs += [targets[:, 0] for targets in found]
        return logprobs, losses

    async def snapshot(self) -> tinker.SamplingClient:
        """The weights as they are now, to sample from."""
        return await self.client.save_weights_and_get_sampling_client_async()

    async def save(self, name: str) -> tuple[str, str]:
        """Paths of the whole state and of weights to sample from."""
        state = await self.client.save_state_async(name, overwrite=True)
        sampler = await self.client.save_weights_for_sampler_async(name)
        return (await state).path, (await sampler).path


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

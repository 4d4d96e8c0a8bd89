"""Weights that change: forward and backward passes that add up, optimiser steps, snapshots, checkpoints."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rtl_agent.backends.engine import checkpoints
from rtl_agent.backends.engine.contract import Adam, EngineError, Example, Floats, ForwardBackwardOutput, Lora, LossName
from rtl_agent.backends.engine.losses import Config, Loss, complete, find_loss, target_logprobs
from rtl_agent.backends.engine.microbatches import Microbatch, check, microbatches
from rtl_agent.backends.engine.optimizer import Optimizer
from rtl_agent.backends.engine.qwen3.inference_model import InferenceModel
from rtl_agent.backends.engine.qwen3.network import BaseModel, hidden_states
from rtl_agent.backends.engine.qwen3.parameters import Parameters
from rtl_agent.backends.engine.qwen3.snapshot import Qwen3Snapshot
from rtl_agent.backends.engine.qwen3.weights import HEAD, Weights


class Qwen3TrainedModel:
    """`publish` makes frozen weights a snapshot that the engine's sampling thread serves.

    `gradients` is what has added up since the last step, by parameter name; None when nothing has.
    """

    def __init__(self, base: BaseModel, lora: Lora, publish: Callable[[InferenceModel], Qwen3Snapshot]) -> None:
        self.base = base.name
        self.lora = lora
        self._model = base
        self._publish = publish
        self._parameters = Parameters(base, lora)
        self._optimizer = Optimizer(self._parameters.values)
        self.gradients: Weights | None = None

    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        chosen = find_loss(loss)
        settings = complete(loss, chosen, config)
        check(examples, chosen, self._model.info)
        logprobs: list[Floats] = [np.empty(0, dtype=np.float32)] * len(examples)
        loss_sum = 0.0
        try:
            with torch.set_grad_enabled(not forward_only):
                for batch in microbatches(examples, chosen, self._model.device):
                    loss_sum += self._pass(batch, examples, chosen, settings, logprobs)
            if not forward_only:
                self._add_up()
        finally:
            for value in self._parameters.values.values():
                value.grad = None
        return ForwardBackwardOutput(
            logprobs, loss_sum, {"tokens": float(sum(len(example.tokens) for example in examples))}
        )

    def _pass(
        self, batch: Microbatch, examples: Sequence[Example], loss: Loss, config: Config, logprobs: list[Floats]
    ) -> float:
        by_target = self._target_logprobs(batch)
        by_token = loss.compute(by_target, batch.arrays, config)
        if "mask" in batch.arrays:
            by_token = by_token * batch.arrays["mask"]
        total = by_token.sum()
        value = float(total.detach())
        if not math.isfinite(value):
            raise EngineError(f"The loss is not finite ({value}); the gradients are as they were before this call.")
        if total.requires_grad:
            total.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
        rows = by_target.detach().cpu().numpy()
        start = 0
        for member, length in zip(batch.members, batch.lengths, strict=True):
            shape = examples[member].inputs["target_tokens"].shape
            logprobs[member] = rows[start : start + length].reshape(shape).copy()
            start += length
        return value

    def _target_logprobs(self, batch: Microbatch) -> Tensor:
        model, by = self._model, self._parameters
        hidden = hidden_states(
            model.config, model.rope, by.embedding, by.norm, by.fork, by.project, batch.tokens
        ).flatten(0, 1)
        if len(batch.real) < len(hidden):
            hidden = hidden[batch.real]
        unembed = lambda x: by.project(HEAD, x)  # noqa: E731
        return target_logprobs(hidden, unembed, batch.targets, model.config.vocabulary)

    def _add_up(self) -> None:
        """Only after every batch has passed: a call that fails half-way leaves no half of itself."""
        new = {
            name: torch.zeros_like(value) if value.grad is None else value.grad
            for name, value in self._parameters.values.items()
        }
        if self.gradients is None:
            self.gradients = new
            return
        torch._foreach_add_(list(self.gradients.values()), [new[name] for name in self.gradients])

    def step(self, adam: Adam) -> Mapping[str, float]:
        values = self._parameters.values
        gradients = self.gradients or {name: torch.zeros_like(value) for name, value in values.items()}
        self.gradients = None
        return self._optimizer.step(gradients, adam)

    def snapshot(self) -> Qwen3Snapshot:
        return self._publish(InferenceModel(self._model, self._parameters.merged()))

    def save(self, directory: Path, *, optimizer: bool) -> None:
        checkpoints.save(directory, self._parameters, self._optimizer if optimizer else None)

    def load(self, directory: Path, *, optimizer: bool) -> None:
        """What had added up is dropped. Without `optimizer` the optimiser starts afresh."""
        restored = Optimizer(self._parameters.values)
        checkpoints.load(directory, self._parameters, restored if optimizer else None)
        self._optimizer = restored
        self.gradients = None

    def close(self) -> None:
        """Frees the weights; the base stays with the engine."""
        self._parameters.values.clear()
        self.gradients = None
        self._optimizer = Optimizer({})

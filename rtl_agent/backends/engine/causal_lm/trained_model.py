"""Weights that change: forward and backward passes that add up, optimiser steps, snapshots, checkpoints."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rtl_agent.backends.engine import checkpoints
from rtl_agent.backends.engine.causal_lm import memory
from rtl_agent.backends.engine.causal_lm.adapter import Parameters
from rtl_agent.backends.engine.causal_lm.base_model import BaseModel, hidden_states, unembedded
from rtl_agent.backends.engine.causal_lm.inference_model import InferenceModel
from rtl_agent.backends.engine.causal_lm.shared_rows import SharedRow, groups, in_one_row
from rtl_agent.backends.engine.causal_lm.snapshot import CausalLmSnapshot
from rtl_agent.backends.engine.contract import Adam, EngineError, Example, Floats, ForwardBackwardOutput, Lora, LossName
from rtl_agent.backends.engine.losses import Config, Loss, complete, find_loss, gathered_logprobs
from rtl_agent.backends.engine.microbatches import MAX_TOKENS, Microbatch, check, microbatches, pad, width
from rtl_agent.backends.engine.optimizer import Optimizer, Weights

# Logits at a time: 220 positions of a vocabulary of 152,000 are 134 MB in float32.
_LOGITS = 1 << 25
# Of positions in a row: 638 go back through a layer of 1,536 x 8,960 in bfloat16 at 282 GFLOP a CPU second, 632 and
# 640 at 400.
_MULTIPLE = 8


class CausalLmTrainedModel:
    """`gradients` is what has added up since the last step, by parameter name; None when nothing has.

    `activation_bytes` bounds what a micro-batch keeps for its way back. A sequence that is longer than that alone is
    computed with gradient checkpointing: layers twice, activations of one layer at a time.
    """

    def __init__(
        self,
        base: BaseModel,
        lora: Lora,
        activation_bytes: float,
        publish: Callable[[InferenceModel], CausalLmSnapshot],
    ) -> None:
        self.base = base.name
        self.lora = lora
        self._base = base
        self._publish = publish
        self._parameters = Parameters(base, lora)
        self._optimizer = Optimizer(self._parameters.values)
        self._most_tokens = int(activation_bytes / _bytes_per_token(base, lora))
        if lora.rank and base.device.type == "cpu":
            self._check_memory()
        self.gradients: Weights | None = None

    def _check_memory(self) -> None:
        """The base may have fitted, and what training takes beside it not: a machine without memory stands still."""
        values = sum(value.numel() for value in self._parameters.values.values())
        tokens = min(self._most_tokens, MAX_TOKENS["cpu"], self._base.info.context)
        need = memory.to_train_adapter(
            self.base, self.lora.rank, values, tokens * _bytes_per_token(self._base, self.lora)
        )
        need.check("end other programs, or train on `rtl-agent serve` with a smaller --memory")

    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        chosen = find_loss(loss)
        settings = complete(loss, chosen, config)
        check(examples, chosen, self._base.info)
        logprobs: list[Floats] = [np.empty(0, dtype=np.float32)] * len(examples)
        loss_sum = 0.0
        most = max(1, min(MAX_TOKENS[self._base.device.type], self._most_tokens))
        try:
            for batch, row in self._batches(examples, chosen, most):
                by_target, value = self._pass(batch, row, chosen, settings, train=not forward_only)
                loss_sum += value
                start = 0
                for member, length in zip(batch.members, batch.lengths, strict=True):
                    shape = examples[member].inputs["target_tokens"].shape
                    logprobs[member] = by_target[start : start + length].reshape(shape).cpu().numpy()
                    start += length
            if not forward_only:
                self._add_up()
        finally:
            for parameter in self._parameters.values.values():
                parameter.grad = None
        return ForwardBackwardOutput(
            logprobs, loss_sum, {"tokens": float(sum(len(example.tokens) for example in examples))}
        )

    def _batches(
        self, examples: Sequence[Example], loss: Loss, most: int
    ) -> Iterator[tuple[Microbatch, SharedRow | None]]:
        """Those that begin alike in rows of their own, the rest by length."""
        device = self._base.device
        alone = []
        for members in self._alike(examples, most):
            if len(members) == 1:
                alone += members
                continue
            row = in_one_row([examples[at].tokens.tolist() for at in members], device, _MULTIPLE)
            batch = pad([examples[at] for at in members], members, loss, device, self._padded)
            yield replace(batch, tokens=row.tokens, real=torch.from_numpy(np.concatenate(row.places)).to(device)), row
        alone.sort()
        for batch in microbatches([examples[at] for at in alone], loss, device, most, self._padded):
            yield replace(batch, members=[alone[at] for at in batch.members]), None

    def _alike(self, examples: Sequence[Example], most: int) -> Iterator[list[int]]:
        """A row has targets of one width."""
        by_width: dict[int, list[int]] = {}
        for at, example in enumerate(examples):
            by_width.setdefault(width(example) if self._base.shares else -at, []).append(at)
        for places in by_width.values():
            for members in groups([examples[at].tokens.tolist() for at in places], most):
                yield [places[member] for member in members]

    def _padded(self, longest: int) -> int:
        return min(-(-longest // _MULTIPLE) * _MULTIPLE, self._base.info.context)

    def _pass(
        self, batch: Microbatch, row: SharedRow | None, loss: Loss, config: Config, *, train: bool
    ) -> tuple[Tensor, float]:
        """Logprobs of all targets, and the loss. The head goes back piece by piece, as soon as a piece is computed: a
        loss is a sum over tokens, so that no piece has to wait for another one with its logits in memory."""
        live = loss.live(batch.arrays) if train else torch.zeros(len(batch.targets), dtype=torch.bool)
        model = self._parameters.model
        self._checkpoint(model, train and batch.tokens.numel() > self._most_tokens)
        with torch.set_grad_enabled(bool(live.any())):
            placed = {} if row is None else row.placed
            hidden = hidden_states(model, batch.tokens, use_cache=False, **placed).flatten(0, 1)
            if row is not None or len(batch.real) < len(hidden):
                hidden = hidden[batch.real]
        logprobs = torch.empty(batch.targets.shape, dtype=torch.float32, device=hidden.device)
        back = torch.zeros_like(hidden) if hidden.requires_grad else None
        value = 0.0
        rows = max(1, _LOGITS // self._base.info.vocabulary)
        first = _first_alike(batch) if row is not None else torch.arange(len(live), device=live.device)
        again = ~live & (first != torch.arange(len(live), device=live.device))
        for trains in (True, False):
            for piece in torch.split(((live == trains) & ~again).nonzero()[:, 0].to(hidden.device), rows):
                if len(piece):
                    value += self._piece(
                        model, hidden, piece, batch, loss, config, logprobs, back if trains else None, trains
                    )
        if again.any():
            logprobs[again] = logprobs[first[again]]
            value += float(self._total(logprobs[again], batch, again.nonzero()[:, 0], loss, config))
        if back is not None:
            hidden.backward(back)  # type: ignore[no-untyped-call]  # torch leaves it so
        return logprobs, value

    def _piece(
        self,
        model: Any,
        hidden: Tensor,
        piece: Tensor,
        batch: Microbatch,
        loss: Loss,
        config: Config,
        logprobs: Tensor,
        back: Tensor | None,
        trains: bool,
    ) -> float:
        with torch.set_grad_enabled(trains):
            inputs = hidden.detach()[piece].requires_grad_(back is not None)
            found = gathered_logprobs(unembedded(model, inputs), batch.targets[piece])
            total = self._total(found, batch, piece, loss, config)
        value = float(total.detach())
        if not math.isfinite(value):
            raise EngineError(f"The loss is not finite ({value}); the gradients are as they were before this call.")
        if total.requires_grad:
            total.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
        if back is not None and inputs.grad is not None:
            back[piece] = inputs.grad
        logprobs[piece] = found.detach()
        return value

    @staticmethod
    def _total(logprobs: Tensor, batch: Microbatch, piece: Tensor, loss: Loss, config: Config) -> Tensor:
        arrays = {name: array[piece] for name, array in batch.arrays.items()}
        by_token = loss.compute(logprobs, arrays, config)
        return (by_token * arrays["mask"] if "mask" in arrays else by_token).sum()

    @staticmethod
    def _checkpoint(model: Any, wanted: bool) -> None:
        from transformers.modeling_layers import GradientCheckpointingLayer

        for module in model.modules():
            if isinstance(module, GradientCheckpointingLayer):
                # Only this flag, not train(): that would turn dropout on.
                module.training = module.gradient_checkpointing = wanted
                setattr(module, "_gradient_checkpointing_func", _recomputed)  # noqa: B010  # torch types it as a module

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

    def snapshot(self) -> CausalLmSnapshot:
        by = self._parameters
        if self.lora.rank:
            return self._publish(InferenceModel(self._base, by.frozen()))
        return self._publish(InferenceModel(self._base, whole=by.copied()))

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
        self._parameters.model = None
        self.gradients = None
        self._optimizer = Optimizer({})


def _first_alike(batch: Microbatch) -> Tensor:
    """Of each position the first one at the same place of a shared row with the same targets."""
    what = np.concatenate((batch.real.cpu().numpy()[:, None], batch.targets.cpu().numpy()), axis=1)
    _, first, inverse = np.unique(what, axis=0, return_index=True, return_inverse=True)
    return torch.from_numpy(first[inverse.reshape(-1)]).to(batch.real.device)


def _recomputed(function: Callable[..., Any], *arguments: Any) -> Any:
    return torch.utils.checkpoint.checkpoint(function, *arguments, use_reentrant=False)


def _bytes_per_token(base: BaseModel, lora: Lora) -> float:
    """What a token leaves in memory for the way back, about: 4.2 MB by this for a 1.5B Qwen2 in bfloat16."""
    config = base.model.config.get_text_config()
    width = config.hidden_size
    inner = getattr(config, "intermediate_size", None) or 4 * width
    experts = getattr(config, "num_experts_per_tok", None) or 1
    size = base.dtype.itemsize if lora.rank else 4
    return float(config.num_hidden_layers * (20 * width + 5 * inner * experts) * size)

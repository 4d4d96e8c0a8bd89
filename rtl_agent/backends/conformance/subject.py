"""The server under test as the checks see it: the SDK's clients and a few tokens that any vocabulary has."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tinker
from tinker import types

CLOSE = 1e-4  # two computations of one logprob
PROMPT = (11, 23, 5, 17, 42, 8)
TARGETS = (23, 5, 17, 42, 8, 31)
OTHER = (7, 19, 33, 21)
OTHER_TARGETS = (19, 33, 21, 12)
# Without momentum and with a large eps Adam's step is nearly learning_rate / eps times the gradient: its size shows.
NEARLY_SGD = types.AdamParams(learning_rate=20.0, beta1=0.0, beta2=0.0, eps=1e3)
ADAM = types.AdamParams(learning_rate=0.01)


@dataclass(frozen=True)
class Subject:
    """The model must be small enough to be created two dozen times; `base_url` is where a second client can go."""

    service: tinker.ServiceClient
    base_model: str
    base_url: str | None = None
    api_key: str | None = None
    rank: int = 4

    async def model(self, seed: int = 1) -> tinker.TrainingClient:
        return await self.service.create_lora_training_client_async(self.base_model, rank=self.rank, seed=seed)

    async def trained(self, steps: int = 2, seed: int = 1) -> tinker.TrainingClient:
        """A model whose adapters are no longer zero."""
        model = await self.model(seed)
        for _ in range(steps):
            await train_step(model, [cross_entropy_datum()])
        return model


def prompt(tokens: Sequence[int] = PROMPT) -> types.ModelInput:
    return types.ModelInput.from_ints(list(tokens))


def datum(tokens: Sequence[int], **inputs: object) -> types.Datum:
    return types.Datum(model_input=prompt(tokens), loss_fn_inputs=inputs)  # type: ignore[arg-type]  # lists are wrapped


def cross_entropy_datum(
    tokens: Sequence[int] = PROMPT, targets: Sequence[int] = TARGETS, weights: Sequence[float] | None = None
) -> types.Datum:
    return datum(tokens, target_tokens=list(targets), weights=list(weights or [1.0] * len(tokens)))


async def train_step(
    model: tinker.TrainingClient, data: list[types.Datum], adam: types.AdamParams = ADAM
) -> types.ForwardBackwardOutput:
    passed = await model.forward_backward_async(data, "cross_entropy")
    stepped = await model.optim_step_async(adam)
    result = await passed.result_async()
    await stepped.result_async()
    return result


async def logprobs_of(
    model: tinker.TrainingClient, tokens: Sequence[int] = PROMPT, targets: Sequence[int] = TARGETS
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Of the trainer, by a forward pass."""
    passed = await (await model.forward_async([cross_entropy_datum(tokens, targets)], "cross_entropy"))
    return np.asarray(passed.loss_fn_outputs[0]["logprobs"].to_numpy(), np.float32)


def expect(truth: bool, sentence: str) -> None:
    if not truth:
        raise AssertionError(sentence)


def expect_close(found: object, wanted: object, what: str, tolerance: float = CLOSE) -> None:
    left, right = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    expect(left.shape == right.shape, f"{what}: shape {left.shape}, expected {right.shape}")
    worst = float(np.max(np.abs(left - right))) if left.size else 0.0
    expect(worst <= tolerance and not math.isnan(worst), f"{what}: differs by {worst:.2e}, more than {tolerance:.0e}")


def loss_sum(metrics: Mapping[str, float]) -> float:
    expect("loss:sum" in metrics, f"the result has no loss:sum, only {sorted(metrics)}")
    return metrics["loss:sum"]

"""Every loss, value and gradient, against a plain computation on transformers' model."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import Qwen3ForCausalLM

from rtl_agent.backends.engine.contract import EngineError, Example, Lora, LossName
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from tests.backends.engine.conftest import CONFIG

Rows = Mapping[str, Tensor]
# Lengths that need padding, and more rows than one micro-batch of 2,048 tokens holds.
LENGTHS = (5, 400, 33, 500, 480, 500, 17, 500)


def _policy_examples(mask: bool) -> list[Example]:
    rng = np.random.default_rng(5)
    examples = []
    for length in LENGTHS:
        inputs: dict[str, NDArray[np.generic]] = {
            "target_tokens": rng.integers(0, CONFIG.vocabulary, length),
            "logprobs": rng.normal(-4.5, 0.8, length).astype(np.float32),
            "advantages": rng.normal(0, 1, length).astype(np.float32),
        }
        if mask:
            inputs["mask"] = rng.integers(0, 2, length).astype(np.float32)
        examples.append(Example(rng.integers(0, CONFIG.vocabulary, length), inputs))
    return examples


def _expected(
    model: Qwen3ForCausalLM, examples: list[Example], objective: Callable[[Tensor, Rows], Tensor]
) -> tuple[float, list[Tensor], dict[str, Tensor]]:
    model.zero_grad()
    total, logprobs = torch.zeros(()), []
    for example in examples:
        rows = {name: torch.from_numpy(np.asarray(value)) for name, value in example.inputs.items()}
        targets = rows["target_tokens"]
        table = model(torch.from_numpy(example.tokens)[None]).logits[0].log_softmax(-1)
        mine = table.gather(1, targets.view(len(targets), -1)).view(targets.shape)
        logprobs.append(mine.detach())
        value = -objective(mine, rows)
        total = total + (value * rows["mask"] if "mask" in rows else value).sum()
    total.backward()
    return float(total.detach()), logprobs, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def _compare(
    engine: Qwen3Engine,
    small: str,
    reference: Qwen3ForCausalLM,
    examples: list[Example],
    loss: LossName,
    config: dict[str, float],
    objective: Callable[[Tensor, Rows], Tensor],
) -> None:
    model = engine.create(small, Lora(rank=0))
    passed = model.forward_backward(examples, loss, config)
    value, logprobs, gradients = _expected(reference, examples, objective)
    assert passed.loss_sum == pytest.approx(value, rel=1e-4, abs=1e-3)
    for mine, theirs in zip(passed.logprobs, logprobs, strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-4)
    assert model.gradients is not None
    assert model.gradients.keys() == gradients.keys()
    for name, gradient in gradients.items():
        scale = float(gradient.abs().max())
        torch.testing.assert_close(model.gradients[name], gradient, atol=1e-4 * scale, rtol=1e-3)


def _ratio(logprobs: Tensor, rows: Rows) -> Tensor:
    return torch.exp(logprobs - rows["logprobs"])


def _ppo(low: float, high: float) -> Callable[[Tensor, Rows], Tensor]:
    def objective(logprobs: Tensor, rows: Rows) -> Tensor:
        free = _ratio(logprobs, rows) * rows["advantages"]
        return torch.min(free, torch.clamp(_ratio(logprobs, rows), low, high) * rows["advantages"])

    return objective


def _cispo(low: float, high: float) -> Callable[[Tensor, Rows], Tensor]:
    def objective(logprobs: Tensor, rows: Rows) -> Tensor:
        return torch.clamp(_ratio(logprobs, rows), low, high).detach() * logprobs * rows["advantages"]

    return objective


def _dro(beta: float) -> Callable[[Tensor, Rows], Tensor]:
    def objective(logprobs: Tensor, rows: Rows) -> Tensor:
        return logprobs * rows["advantages"] - 0.5 * beta * (logprobs - rows["logprobs"]) ** 2

    return objective


@pytest.mark.parametrize(
    ("loss", "config", "objective"),
    [
        ("importance_sampling", {}, lambda logprobs, rows: _ratio(logprobs, rows) * rows["advantages"]),
        ("ppo", {}, _ppo(0.8, 1.2)),
        ("ppo", {"clip_low_threshold": 0.5, "clip_high_threshold": 1.1}, _ppo(0.5, 1.1)),
        ("cispo", {}, _cispo(0.0, 4.0)),
        ("cispo", {"clip_low_threshold": 0.9, "clip_high_threshold": 1.3}, _cispo(0.9, 1.3)),
        ("dro", {"beta": 0.3}, _dro(0.3)),
    ],
)
@pytest.mark.parametrize("mask", [False, True], ids=["no mask", "mask"])
def test_policy_losses_are_those_of_the_tinker_api(
    engine: Qwen3Engine,
    small: str,
    reference: Qwen3ForCausalLM,
    loss: LossName,
    config: dict[str, float],
    objective: Callable[[Tensor, Rows], Tensor],
    mask: bool,
) -> None:
    _compare(engine, small, reference, _policy_examples(mask), loss, config, objective)


@pytest.mark.parametrize("shape", [(), (1,), (6,)], ids=["one target", "one in a row", "six soft targets"])
def test_cross_entropy_takes_one_target_or_weighted_ones(
    engine: Qwen3Engine, small: str, reference: Qwen3ForCausalLM, shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(6)
    examples = [
        Example(
            rng.integers(0, CONFIG.vocabulary, length),
            {
                "target_tokens": rng.integers(0, CONFIG.vocabulary, (length, *shape)),
                "weights": rng.random((length, *shape)).astype(np.float32),
            },
        )
        for length in LENGTHS
    ]
    _compare(engine, small, reference, examples, "cross_entropy", {}, lambda logprobs, rows: logprobs * rows["weights"])


def test_logits_too_many_to_keep_give_the_same_gradients(
    engine: Qwen3Engine, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = engine.create(small, Lora(rank=4)), engine.create(small, Lora(rank=4))
    examples = _policy_examples(mask=False)
    whole.forward_backward(examples, "ppo", {})
    monkeypatch.setattr("rtl_agent.backends.engine.losses.MAX_LOGITS", 50 * CONFIG.vocabulary)
    parts.forward_backward(examples, "ppo", {})
    assert whole.gradients is not None
    assert parts.gradients is not None
    for name, gradient in whole.gradients.items():
        torch.testing.assert_close(parts.gradients[name], gradient, atol=1e-4, rtol=1e-3)


def test_a_setting_the_loss_does_not_have_is_refused(engine: Qwen3Engine, small: str) -> None:
    model = engine.create(small, Lora(rank=4))
    with pytest.raises(EngineError, match=r"'ppo' has no setting 'beta' \(it has: clip_low_threshold"):
        model.forward_backward(_policy_examples(mask=False), "ppo", {"beta": 1.0})
    with pytest.raises(EngineError, match="The loss 'gspo' is not supported; use one of cross_entropy"):
        model.forward_backward(_policy_examples(mask=False), "gspo", {})  # type: ignore[arg-type]  # what is tested

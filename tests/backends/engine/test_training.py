"""Gradients add up, steps are Adam's, and what is refused leaves everything as it was."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from rtl_agent.backends.engine.contract import Adam, EngineError, Example, Lora
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.engine.qwen3.trained_model import Qwen3TrainedModel
from tests.backends.engine.conftest import CONFIG


def _example(length: int, seed: int = 0, **changed: NDArray[np.generic]) -> Example:
    rng = np.random.default_rng((seed, length))
    inputs: dict[str, NDArray[np.generic]] = {
        "target_tokens": rng.integers(0, CONFIG.vocabulary, length),
        "weights": np.ones(length, dtype=np.float32),
    }
    return Example(rng.integers(0, CONFIG.vocabulary, length), inputs | changed)


EXAMPLES = [_example(length) for length in (20, 7, 31, 12)]


def _gradients(model: Qwen3TrainedModel) -> dict[str, torch.Tensor]:
    assert model.gradients is not None
    return model.gradients


def _values(model: Qwen3TrainedModel) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model._parameters.values.items()}


def test_two_passes_add_up_to_one_pass_over_both(engine: Qwen3Engine, small: str) -> None:
    once, twice = engine.create(small, Lora(rank=0)), engine.create(small, Lora(rank=0))
    whole = once.forward_backward(EXAMPLES, "cross_entropy", {})
    parts = [twice.forward_backward(half, "cross_entropy", {}) for half in (EXAMPLES[:1], EXAMPLES[1:])]
    assert sum(part.loss_sum for part in parts) == pytest.approx(whole.loss_sum)
    for name, gradient in _gradients(once).items():
        torch.testing.assert_close(_gradients(twice)[name], gradient, atol=1e-4, rtol=1e-3)


def test_the_same_calls_give_the_same_bits(engine: Qwen3Engine, small: str) -> None:
    results = []
    for _ in range(2):
        model = engine.create(small, Lora(rank=4, seed=9))
        for _ in range(3):
            model.forward_backward(EXAMPLES, "cross_entropy", {})
            model.step(Adam(1e-2))
        results.append(_values(model))
    assert all(torch.equal(results[0][name], value) for name, value in results[1].items())


def test_logprobs_come_back_in_the_order_of_the_examples(engine: Qwen3Engine, small: str) -> None:
    model = engine.create(small, Lora(rank=4))
    together = model.forward_backward(EXAMPLES, "cross_entropy", {}, forward_only=True)
    for example, logprobs in zip(EXAMPLES, together.logprobs, strict=True):
        alone = model.forward_backward([example], "cross_entropy", {}, forward_only=True)
        np.testing.assert_allclose(alone.logprobs[0], logprobs, atol=1e-5)


def test_forward_only_leaves_no_gradient(engine: Qwen3Engine, small: str) -> None:
    model = engine.create(small, Lora(rank=4))
    model.forward_backward(EXAMPLES, "cross_entropy", {}, forward_only=True)
    assert model.gradients is None


@pytest.mark.parametrize("adam", [Adam(1e-2), Adam(3e-3, 0.8, 0.99, 1e-6, 0.1, 0.5)], ids=["defaults", "all set"])
def test_steps_are_those_of_torch(engine: Qwen3Engine, small: str, adam: Adam) -> None:
    model = engine.create(small, Lora(rank=0))
    theirs = {name: value.requires_grad_(True) for name, value in _values(model).items()}
    optimizer = torch.optim.AdamW(
        list(theirs.values()), adam.learning_rate, (adam.beta1, adam.beta2), adam.eps, adam.weight_decay
    )
    for _ in range(3):
        model.forward_backward(EXAMPLES, "cross_entropy", {})
        for name, value in theirs.items():
            value.grad = _gradients(model)[name].clone()
        if adam.grad_clip_norm:
            norm = torch.nn.utils.clip_grad_norm_(theirs.values(), adam.grad_clip_norm)
        else:
            norm = torch.nn.utils.get_total_norm([value.grad for value in theirs.values() if value.grad is not None])
        optimizer.step()
        assert model.step(adam)["grad_norm"] == pytest.approx(float(norm), rel=1e-4)
        assert model.gradients is None
    for name, value in _values(model).items():
        torch.testing.assert_close(value, theirs[name].detach(), atol=1e-6, rtol=1e-5)


def test_an_adapter_starts_as_the_base_and_learns(engine: Qwen3Engine, small: str) -> None:
    full, adapter = engine.create(small, Lora(rank=0)), engine.create(small, Lora(rank=8))
    before = [m.forward_backward(EXAMPLES, "cross_entropy", {}).loss_sum for m in (full, adapter)]
    assert before[0] == pytest.approx(before[1], rel=1e-5)
    for _ in range(40):
        adapter.forward_backward(EXAMPLES, "cross_entropy", {})
        adapter.step(Adam(1e-2))
    assert adapter.forward_backward(EXAMPLES, "cross_entropy", {}).loss_sum < 0.7 * before[1]


@pytest.mark.parametrize("part", ["attention", "mlp", "unembed"])
def test_only_what_is_asked_for_is_adapted(engine: Qwen3Engine, small: str, part: str) -> None:
    flags = {"attention": False, "mlp": False, "unembed": False} | {part: True}
    model = engine.create(small, Lora(rank=3, **flags))
    values = _values(model)
    mark = {"attention": "self_attn", "mlp": "mlp", "unembed": "lm_head"}[part]
    assert values
    assert all(mark in name for name in values)
    assert all(3 in value.shape for value in values.values())
    model.forward_backward(EXAMPLES, "cross_entropy", {})
    model.step(Adam(1e-2))
    assert all(not torch.equal(value, values[name]) for name, value in _values(model).items() if "lora_B" in name)


def test_the_seed_makes_the_adapter(engine: Qwen3Engine, small: str) -> None:
    one, same, other = (_values(engine.create(small, Lora(rank=4, seed=seed))) for seed in (1, 1, 2))
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_a_loss_that_is_not_finite_changes_nothing(engine: Qwen3Engine, small: str) -> None:
    model = engine.create(small, Lora(rank=4))
    model.forward_backward(EXAMPLES, "cross_entropy", {})
    before = {name: value.clone() for name, value in _gradients(model).items()}
    # The longest goes first: the bad one comes after a batch that passed.
    bad = _example(9, weights=np.full(9, np.nan, dtype=np.float32))
    long = [_example(500, seed) for seed in range(5)]
    with pytest.raises(EngineError, match=r"loss is not finite \(nan\); the gradients are as they were"):
        model.forward_backward([*long, bad], "cross_entropy", {})
    assert all(torch.equal(value, before[name]) for name, value in _gradients(model).items())


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (Example(np.array([1, 97]), _example(2).inputs), "tokens has token 97; the model's vocabulary ends at 96"),
        (Example(np.array([1, -1]), _example(2).inputs), "tokens has token -1"),
        (_example(2, target_tokens=np.array([3, 200])), "target_tokens has token 200"),
        (_example(513), "it has 513 tokens; the model's context is 512"),
        (Example(np.array([], dtype=np.int64), _example(2).inputs), "it has no tokens"),
        (Example(np.array([1, 2]), {"target_tokens": np.array([1, 2])}), "the loss needs 'weights'"),
        (_example(4, weights=np.ones(3, dtype=np.float32)), r"weights has shape \(3,\); target_tokens has \(4,\)"),
        (_example(4, target_tokens=np.array([1, 2, 3])), "should have 4 rows"),
        (_example(4, mask=np.ones(5, dtype=np.float32)), r"mask has shape \(5,\); it should have \(4,\)"),
        (_example(2, target_tokens=np.array([0.5, 1.0])), "target_tokens are float64, not integers"),
    ],
)
def test_a_bad_example_is_named(engine: Qwen3Engine, small: str, example: Example, message: str) -> None:
    model = engine.create(small, Lora(rank=4))
    with pytest.raises(EngineError, match=message) as caught:
        model.forward_backward([EXAMPLES[0], example], "cross_entropy", {})
    assert str(caught.value).startswith("Example 1 of 2:")
    assert model.gradients is None


def test_no_examples_and_nothing_to_train_are_errors(engine: Qwen3Engine, small: str) -> None:
    with pytest.raises(EngineError, match="no examples"):
        engine.create(small, Lora(rank=4)).forward_backward([], "cross_entropy", {})
    with pytest.raises(EngineError, match="Nothing to train"):
        engine.create(small, Lora(rank=4, attention=False, mlp=False, unembed=False))
    with pytest.raises(EngineError, match="rank is -1"):
        engine.create(small, Lora(rank=-1))

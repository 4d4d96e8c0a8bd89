"""The transformers engine: every architecture keeps the contract, and computes what transformers and qwen3 compute."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from rtl_agent.backends.conformance.engine import ENGINE_CHECKS, EngineSubject, run_engine_check
from rtl_agent.backends.engine.causal_lm.engine import CausalLmEngine
from rtl_agent.backends.engine.contract import Adam, Example, Lora, LossName, SampleRequest, ScoreRequest
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from tests.backends.engine.tiny_architectures import ARCHITECTURES, VOCABULARY, write_architecture

RNG = np.random.default_rng(0)
TOKENS = RNG.integers(2, VOCABULARY, 40)


def close(found: Any, wanted: Any, most: float) -> None:
    assert np.abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64)).max() <= most


@pytest.fixture(scope="module", params=ARCHITECTURES)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineSubject]:
    model = write_architecture(request.param, tmp_path_factory.mktemp("models") / request.param)
    engine = CausalLmEngine([model])
    yield EngineSubject(engine, model)
    engine.close()


@pytest.mark.parametrize("name", ENGINE_CHECKS)
def test_an_architecture_keeps_the_contract(name: str, subject: EngineSubject) -> None:
    assert run_engine_check(name, subject).message == ""


@pytest.mark.parametrize("name", ["checkpoints_continue", "gradients_add_up", "scores_are_the_trainers"])
def test_rank_0_keeps_it_too(name: str, subject: EngineSubject) -> None:
    assert run_engine_check(name, EngineSubject(subject.engine, subject.model, rank=0)).message == ""


def test_scores_and_greedy_samples_are_those_of_transformers(subject: EngineSubject) -> None:
    """Longer than the sliding windows; rows of different lengths decode together and leave one by one."""
    reference: Any = AutoModelForCausalLM.from_pretrained(
        subject.model, dtype=torch.float32, attn_implementation="eager"
    )
    snapshot = subject.engine.base_snapshot(subject.model)
    with torch.inference_mode():
        table = reference(torch.from_numpy(TOKENS)[None]).logits[0].log_softmax(-1)
    wanted = table[:-1].gather(1, torch.from_numpy(TOKENS)[1:, None])[:, 0].numpy()
    found = snapshot.score(ScoreRequest(TOKENS.tolist())).result(60)
    close(found.logprobs[1:], wanted, 1e-4)
    prompts = [TOKENS[:length].tolist() for length in (3, 21, 12, 3)]
    samples = [
        snapshot.sample(SampleRequest(prompt, 8 + 5 * at, seed=0, temperature=0.0)) for at, prompt in enumerate(prompts)
    ]
    for at, (prompt, sample) in enumerate(zip(prompts, samples, strict=True)):
        whole = [*prompt, *sample.result(60).tokens]
        assert len(whole) == len(prompt) + 8 + 5 * at
        with torch.inference_mode():
            logits = reference(torch.tensor([whole])).logits[0, len(prompt) - 1 : -1]
        assert logits.argmax(-1).tolist() == whole[len(prompt) :]


def _examples(loss: LossName) -> list[Example]:
    found = []
    for at, length in enumerate((9, 30, 17)):
        tokens, targets = TOKENS[:length], np.roll(TOKENS, -1)[:length]
        weights = np.where(np.arange(length) < 4, 0, np.linspace(-1, 1, length)).astype(np.float32)
        inputs: dict[str, Any] = {"target_tokens": targets}
        if loss == "cross_entropy":
            inputs["weights"] = weights
        else:
            inputs |= {"advantages": weights, "logprobs": np.full(length, -4.0 - 0.1 * at, np.float32)}
            inputs["mask"] = (np.arange(length) != 6).astype(np.float32)
        found.append(Example(tokens, inputs))
    return found


@pytest.mark.parametrize("lora", [Lora(4, seed=3), Lora(0)], ids=["adapter", "all weights"])
def test_both_engines_agree_on_a_qwen3_model(lora: Lora, tmp_path: Path) -> None:
    """The same seed makes the same adapter; logprobs, losses and gradients of both are equal, then checkpoints too."""
    model = write_architecture("qwen3", tmp_path / "model")
    first, second = Qwen3Engine([model]), CausalLmEngine([model])
    ours, theirs = first.create(model, lora), second.create(model, lora)
    for one in (ours, theirs):  # an adapter begins at zero: one step makes it count
        one.forward_backward(_examples("cross_entropy"), "cross_entropy", {})
        one.step(Adam(1e-2))
    for loss in get_args(LossName):
        results = [one.forward_backward(_examples(loss), loss, {}) for one in (ours, theirs)]
        assert results[0].loss_sum == pytest.approx(results[1].loss_sum, rel=1e-4, abs=1e-3)
        for left, right in zip(results[0].logprobs, results[1].logprobs, strict=True):
            close(left, right, 1e-4)
        assert ours.gradients is not None
        assert theirs.gradients is not None
        assert set(ours.gradients) == set(theirs.gradients)
        for name, gradient in ours.gradients.items():
            torch.testing.assert_close(theirs.gradients[name], gradient, atol=2e-3, rtol=1e-3)
    ours.save(tmp_path / "kept", optimizer=True)
    theirs.load(tmp_path / "kept", optimizer=True)
    sampled = [
        engine.load_snapshot(model, tmp_path / "kept").score(ScoreRequest(TOKENS.tolist())).result(60).logprobs[1:]
        for engine in (first, second)
    ]
    close(sampled[0], sampled[1], 1e-4)
    first.close()
    second.close()


def test_checkpointed_gradients_are_the_same(tmp_path: Path) -> None:
    """A budget below one sequence: every layer is computed again on the way back, to the same numbers."""
    model = write_architecture("qwen2", tmp_path / "model")
    plenty, little = CausalLmEngine([model]), CausalLmEngine([model], memory=1e-6)
    found = []
    for engine in (plenty, little):
        trained = engine.create(model, Lora(4))
        trained.forward_backward(_examples("cross_entropy"), "cross_entropy", {})
        assert trained.gradients is not None
        found.append(trained.gradients)
        engine.close()
    for name, gradient in found[0].items():
        torch.testing.assert_close(found[1][name], gradient, atol=1e-4, rtol=1e-4)


def test_an_adapter_loads_into_peft(tmp_path: Path) -> None:
    from peft import PeftModel

    model = write_architecture("qwen2", tmp_path / "model")
    engine = CausalLmEngine([model])
    trained = engine.create(model, Lora(4, unembed=False))
    for _ in range(3):
        trained.forward_backward(_examples("cross_entropy"), "cross_entropy", {})
        trained.step(Adam(1e-2))
    trained.save(tmp_path / "kept", optimizer=True)
    by_peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model), tmp_path / "kept")
    with torch.inference_mode():
        table = by_peft(torch.from_numpy(TOKENS)[None]).logits[0].log_softmax(-1)
    wanted = table[:-1].gather(1, torch.from_numpy(TOKENS)[1:, None])[:, 0].numpy()
    found = trained.snapshot().score(ScoreRequest(TOKENS.tolist())).result(60).logprobs[1:]
    close(found, wanted, 1e-4)
    engine.close()


@pytest.mark.parametrize("architecture", ["qwen2", "llama", "gemma3"])
def test_bfloat16_keeps_its_tolerance(architecture: str, tmp_path: Path) -> None:
    """Sampler, score and trainer over one adapter, within what the model's description says; masters stay float32."""
    model = write_architecture(architecture, tmp_path / "model", torch.bfloat16)
    engine = CausalLmEngine([model], dtype="bfloat16")
    trained = engine.create(model, Lora(4))
    for _ in range(3):
        trained.forward_backward(_examples("cross_entropy"), "cross_entropy", {})
        trained.step(Adam(1e-2))
    assert trained.gradients is None
    snapshot = trained.snapshot()
    tolerance = engine.models()[0].tolerance
    sample = snapshot.sample(SampleRequest(TOKENS.tolist(), 20, seed=1)).result(60)
    whole = [*TOKENS.tolist(), *sample.tokens]
    scored = snapshot.score(ScoreRequest(whole)).result(60).logprobs
    close(scored[-20:], sample.logprobs, tolerance)
    example = Example(np.array(whole[:-1]), {"target_tokens": np.array(whole[1:]), "weights": np.ones(len(whole) - 1)})
    passed = trained.forward_backward([example], "cross_entropy", {}, forward_only=True)
    close(passed.logprobs[0], scored[1:], tolerance)
    trained.save(tmp_path / "kept", optimizer=True)
    from safetensors.torch import load_file

    assert {one.dtype for one in load_file(tmp_path / "kept" / "adapter_model.safetensors").values()} == {torch.float32}
    engine.close()

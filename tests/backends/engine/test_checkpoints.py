"""Checkpoints: exact, whole or absent, and only into what they came from."""

import resource
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from rtl_agent.backends.engine.checkpoints import saved_lora
from rtl_agent.backends.engine.contract import Adam, EngineError, Example, Lora, SampleRequest
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.engine.qwen3.trained_model import Qwen3TrainedModel

RNG = np.random.default_rng(0)
BATCHES = [
    [
        Example(RNG.integers(0, 97, n), {"target_tokens": RNG.integers(0, 97, n), "weights": np.ones(n, np.float32)})
        for n in (12, 30)
    ]
    for _ in range(6)
]


def _train(model: Qwen3TrainedModel, batches: list[list[Example]]) -> list[float]:
    losses = []
    for batch in batches:
        losses.append(model.forward_backward(batch, "cross_entropy", {}).loss_sum)
        model.step(Adam(1e-2, weight_decay=0.01))
    return losses


@pytest.mark.parametrize("lora", [Lora(rank=0), Lora(rank=4)], ids=["all weights", "adapter"])
def test_a_resumed_run_goes_on_bit_for_bit(engine: Qwen3Engine, small: str, lora: Lora, tmp_path: Path) -> None:
    model = engine.create(small, lora)
    _train(model, BATCHES[:3])
    model.save(tmp_path / "kept", optimizer=True)
    expected = _train(model, BATCHES[3:])
    resumed = engine.create(small, lora)
    resumed.load(tmp_path / "kept", optimizer=True)
    assert _train(resumed, BATCHES[3:]) == expected
    afresh = engine.create(small, lora)
    afresh.load(tmp_path / "kept", optimizer=False)
    assert _train(afresh, BATCHES[3:])[0] == expected[0]
    assert _train(afresh, BATCHES[3:])[1:] != expected[1:]


@pytest.mark.parametrize("lora", [Lora(rank=0), Lora(rank=4)], ids=["all weights", "adapter"])
def test_a_saved_snapshot_samples_as_the_live_one(engine: Qwen3Engine, small: str, lora: Lora, tmp_path: Path) -> None:
    model = engine.create(small, lora)
    _train(model, BATCHES)
    model.save(tmp_path / "kept", optimizer=False)
    request = SampleRequest([1, 2, 3], 50, seed=5)
    saved = engine.load_snapshot(small, tmp_path / "kept").sample(request).result(timeout=60)
    assert saved == model.snapshot().sample(request).result(timeout=60)


def test_an_adapter_carries_the_names_that_peft_reads(engine: Qwen3Engine, small: str, tmp_path: Path) -> None:
    engine.create(small, Lora(rank=4)).save(tmp_path / "kept", optimizer=False)
    names = load_file(tmp_path / "kept" / "adapter_model.safetensors")
    assert names["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"].shape == (4, 48)
    assert names["base_model.model.lm_head.lora_B.weight"].shape == (97, 4)


def test_saving_again_replaces_what_was_there(engine: Qwen3Engine, small: str, tmp_path: Path) -> None:
    model = engine.create(small, Lora(rank=4))
    model.save(tmp_path / "kept", optimizer=True)
    _train(model, BATCHES)
    model.save(tmp_path / "kept", optimizer=False)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    with pytest.raises(EngineError, match="without the optimizer's state"):
        model.load(tmp_path / "kept", optimizer=True)


def test_a_full_disk_leaves_nothing_half_written(engine: Qwen3Engine, small: str, tmp_path: Path) -> None:
    model = engine.create(small, Lora(rank=0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # a write beyond it fails as one on a full disk does
    try:
        with pytest.raises(EngineError, match=r"could not be written: File too large. Nothing of it was kept"):
            model.save(tmp_path / "kept", optimizer=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())
    model.save(tmp_path / "kept", optimizer=True)


def test_what_does_not_fit_is_refused_and_changes_nothing(engine: Qwen3Engine, small: str, tmp_path: Path) -> None:
    engine.create(small, Lora(rank=4)).save(tmp_path / "four", optimizer=True)
    model = engine.create(small, Lora(rank=8))
    before = model.forward_backward(BATCHES[0], "cross_entropy", {}, forward_only=True).loss_sum
    with pytest.raises(EngineError, match=r"has LoRA of rank 4 on attention, mlp, unembed; .* has LoRA of rank 8"):
        model.load(tmp_path / "four", optimizer=True)
    with pytest.raises(EngineError, match="There is no checkpoint in"):
        model.load(tmp_path / "absent", optimizer=False)
    with pytest.raises(EngineError, match=r"was trained from .*, not from 'another'"):
        saved_lora(tmp_path / "four", "another")
    (tmp_path / "four" / "adapter_model.safetensors").write_bytes(b"torn")
    with pytest.raises(EngineError, match="cannot be read"):
        engine.create(small, Lora(rank=4)).load(tmp_path / "four", optimizer=True)
    assert model.forward_backward(BATCHES[0], "cross_entropy", {}, forward_only=True).loss_sum == before


def test_loading_drops_gradients_that_had_added_up(engine: Qwen3Engine, small: str, tmp_path: Path) -> None:
    model = engine.create(small, Lora(rank=4))
    model.save(tmp_path / "kept", optimizer=True)
    model.forward_backward(BATCHES[0], "cross_entropy", {})
    model.load(tmp_path / "kept", optimizer=True)
    assert model.gradients is None
    assert torch.get_num_threads() == 1

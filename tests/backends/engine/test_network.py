"""The network against transformers' own Qwen3."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3ForCausalLM

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.engine.qwen3.config import Qwen3Config
from rtl_agent.backends.engine.qwen3.inference_model import InferenceModel
from rtl_agent.backends.engine.qwen3.network import read_base
from rtl_agent.backends.engine.qwen3.weights import random_weights, write_model
from tests.backends.engine.conftest import CONFIG

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "config",
    [CONFIG, replace(CONFIG, tied=False), replace(CONFIG, kv_heads=4, rope_theta=10_000.0)],
    ids=["tied, grouped", "untied", "one kv head each, other theta"],
)
def test_logits_are_those_of_transformers(config: Qwen3Config, tmp_path: Path) -> None:
    write_model(tmp_path, config, random_weights(config, 1))
    theirs = Qwen3ForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    tokens = torch.randint(0, config.vocabulary, (70,), generator=torch.Generator().manual_seed(0))
    base = read_base("x", tmp_path, CPU)
    ours = InferenceModel(base, dict(base.weights))
    with torch.no_grad():
        logits = ours.hidden(tokens) @ ours.head
        expected = theirs(tokens[None]).logits[0]
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)
    assert base.info.parameters == theirs.num_parameters()


def test_weights_in_several_files_are_read_by_their_index(small: str, tmp_path: Path) -> None:
    weights = load_file(Path(small) / "model.safetensors")
    parts = {"a.safetensors": sorted(weights)[:5], "b.safetensors": sorted(weights)[5:]}
    for file, names in parts.items():
        save_file({name: weights[name] for name in names}, tmp_path / file)
    index = {"weight_map": {name: file for file, names in parts.items() for name in names}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text((Path(small) / "config.json").read_text())
    read = read_base("x", tmp_path, CPU).weights
    assert read.keys() == weights.keys()
    assert all(torch.equal(read[name], weights[name]) for name in weights)


def test_a_directory_that_is_no_model_says_what_is_missing(small: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no readable config.json"):
        read_base("x", tmp_path, CPU)
    fields = json.loads((Path(small) / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(fields))
    with pytest.raises(EngineError, match=r"no model.safetensors"):
        read_base("x", tmp_path, CPU)
    (tmp_path / "config.json").write_text(json.dumps(fields | {"model_type": "llama"}))
    with pytest.raises(EngineError, match="'llama' model; the qwen3 engine runs 'qwen3' only"):
        read_base("x", tmp_path, CPU)
    (tmp_path / "config.json").write_text(json.dumps(fields | {"hidden_size": 64}))
    (tmp_path / "model.safetensors").write_bytes((Path(small) / "model.safetensors").read_bytes())
    with pytest.raises(EngineError, match=r"has shape \(97, 48\); config.json says \(97, 64\)"):
        read_base("x", tmp_path, CPU)

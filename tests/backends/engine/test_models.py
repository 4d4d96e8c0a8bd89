"""Our own models by name: made once in the cache, loadable by everybody who reads Hugging Face's layout."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoTokenizer

from rtl_agent.backends.engine.contract import EngineError, SampleRequest
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.models import OWN, model_directory, registry


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_model_directory_has_tokenizer_and_configuration() -> None:
    for name in OWN:
        directory = model_directory(name)
        tokenizer = AutoTokenizer.from_pretrained(directory)
        config = AutoConfig.from_pretrained(directory)
        assert config.vocab_size == len(tokenizer)
        assert config.eos_token_id == [tokenizer.eos_token_id]
        assert config.max_position_embeddings == 4096


def test_the_engine_offers_them_with_their_sizes() -> None:
    engine = Qwen3Engine()
    sizes = {info.name: info.parameters for info in engine.models()}
    assert 0.9e6 < sizes["rtl-agent/student"] < 1.3e6
    assert 2e6 < sizes["rtl-agent/teacher"] < 5.5e6
    sample = engine.base_snapshot("rtl-agent/student").sample(SampleRequest([1, 2], 4, seed=0)).result(timeout=60)
    assert len(sample.tokens) == 4
    engine.close()


def test_the_same_weights_are_made_everywhere(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_file(model_directory("rtl-agent/student") / "model.safetensors")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "other"))
    second = load_file(model_directory("rtl-agent/student") / "model.safetensors")
    assert all((first[name] == second[name]).all() for name in first)


def test_several_at_once_make_one_directory(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(model_directory, ["rtl-agent/student"] * 4))
    assert len(found) == 1
    assert list((cache / "rtl-agent" / "models").iterdir()) == list(found)


def test_shipped_weights_are_used_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = model_directory("rtl-agent/student")
    weights = {name: value + 1 for name, value in load_file(random / "model.safetensors").items()}
    (tmp_path / "shipped" / "student").mkdir(parents=True)
    save_file(weights, tmp_path / "shipped" / "student" / "model.safetensors")
    monkeypatch.setattr(registry, "SHIPPED", tmp_path / "shipped")
    trained = load_file(model_directory("rtl-agent/student") / "model.safetensors")
    assert all((trained[name] == value).all() for name, value in weights.items())


def test_a_model_without_weights_says_how_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SHIPPED", tmp_path)
    with pytest.raises(EngineError, match="rtl-agent pretrain student --out DIR"):
        model_directory("rtl-agent/student")


def test_an_unknown_name_says_what_there_is() -> None:
    for name in ("Qwen/Qwen3-none", "no such thing", "/nowhere/at/all"):
        with pytest.raises(EngineError, match=r"There is no model .* neither one of rtl-agent/student"):
            model_directory(name)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(EngineError, match=r"device .* is not supported"):
        Qwen3Engine((), device="meta")
    with pytest.raises(EngineError, match=r"device .* is not supported"):
        Qwen3Engine((), device="tpu9")

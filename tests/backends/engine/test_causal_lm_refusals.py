"""What the transformers engine refuses: one sentence that says what to do, before anything is loaded."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rtl_agent.backends.engine import registry
from rtl_agent.backends.engine.causal_lm import memory
from rtl_agent.backends.engine.causal_lm.engine import CausalLmEngine
from rtl_agent.backends.engine.contract import EngineError, Lora
from rtl_agent.backends.engine.registry import QWEN3_MOST, EngineByModel, EngineOptions, choose_engine, default_threads
from tests.backends.engine.tiny_architectures import write_architecture


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(write_architecture("qwen2", tmp_path / "model"))


def _config(model: Path, **fields: object) -> None:
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def _cut(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def _torn(model: Path) -> None:
    (model / "model.safetensors").write_bytes(b"\xff" * 4096)


def _shards(model: Path) -> None:
    (model / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-00001-of-00002.safetensors"}}')


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda m: (m / "config.json").unlink(), "is not a model directory: it has no readable config.json"),
        (lambda m: (m / "config.json").write_text("{"), "is not valid JSON"),
        (lambda m: (m / "config.json").write_text("[]"), "has no model_type"),
        (lambda m: _config(m, model_type="no_such"), "describes a 'no_such' model"),
        (lambda m: _config(m, model_type="mamba"), "has no|attention only|does not say"),
        (lambda m: _config(m, model_type="clip"), "describes a 'clip' model"),
        (lambda m: _config(m, quantization_config={"bits": 4}), "are quantised"),
        (lambda m: _config(m, max_position_embeddings=4), "is 4 positions, too few"),
        (lambda m: _config(m, vocab_size="many"), "vocabulary|refused by transformers"),
        (lambda m: (m / "model.safetensors").unlink(), "has no model.safetensors"),
        (_cut, r"is damaged: it has [\d,]+ bytes where its header says [\d,]+"),
        (_torn, "is damaged: its header does not fit"),
        (_shards, "cannot be read: No such file"),
        (lambda m: (m / "model.safetensors.index.json").write_text("[1]"), "is not an index of weight files"),
    ],
)
def test_a_directory_that_cannot_be_run_is_refused_before_loading(
    damage: Callable[[Path], None], said: str, model: Path
) -> None:
    damage(model)
    with pytest.raises(EngineError, match=said):
        choose_engine(str(model), "transformers")


def test_weights_that_do_not_fit_the_configuration_are_refused(model: Path) -> None:
    _config(model, num_hidden_layers=3, layer_types=["full_attention"] * 3)
    with pytest.raises(EngineError, match=r"has no weight 'model.layers.2"):
        CausalLmEngine([str(model)]).base_snapshot(str(model))


def test_too_little_memory_is_said_with_the_numbers(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 0.9e9)
    engine = CausalLmEngine([str(model)])
    with pytest.raises(EngineError, match=r"needs about 1\.0 GB of memory .* but 0\.9 GB are available; end other"):
        engine.base_snapshot(str(model))
    monkeypatch.undo()
    engine.base_snapshot(str(model)).close()
    monkeypatch.setattr(memory, "available_memory", lambda: 1e4)
    with pytest.raises(EngineError, match=r"Training all weights of .* train a LoRA adapter"):
        engine.create(str(model), Lora(0))
    with pytest.raises(EngineError, match=r"Training a LoRA adapter of rank 4 .* activations .* smaller --memory"):
        engine.create(str(model), Lora(4))
    monkeypatch.undo()
    assert engine.create(str(model), Lora(4)).lora.rank == 4
    engine.close()


def test_the_machine_says_what_is_available() -> None:
    assert 1e7 < memory.available_memory() < 1e14


def test_options_that_make_no_sense_are_refused(model: Path) -> None:
    with pytest.raises(EngineError, match="use float32 or bfloat16"):
        CausalLmEngine([str(model)], dtype="int3").base_snapshot(str(model))
    with pytest.raises(EngineError, match="use cpu or cuda"):
        CausalLmEngine([str(model)], device="tpu")
    with pytest.raises(EngineError, match="Nothing to train"):
        CausalLmEngine([str(model)]).create(str(model), Lora(4, mlp=False, attention=False, unembed=False))
    with pytest.raises(EngineError, match="computes in float32"):
        EngineByModel(["rtl-agent/student"], EngineOptions(dtype="bfloat16")).models()


def test_large_qwen3_models_are_for_the_other_engine(model: Path, tmp_path: Path) -> None:
    assert choose_engine(str(model)) == "transformers"
    small = write_architecture("qwen3", tmp_path / "small")
    assert (choose_engine(small), choose_engine(small, "transformers")) == ("qwen3", "transformers")
    _config(Path(small), hidden_size=4096, num_hidden_layers=36, intermediate_size=12288, vocab_size=151936)
    with pytest.raises(EngineError, match=f"runs models of up to {QWEN3_MOST // 10**6}M"):
        choose_engine(small, "qwen3")
    assert default_threads([small, "nobody/no-such-model"]) == 1


@pytest.mark.parametrize(("said", "threads"), [("1", 1), ("4096", None), ("", None), ("many", None)])
def test_large_models_take_all_cores_or_what_the_environment_says(
    said: str, threads: int | None, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MORE_THREADS_ABOVE", 0)
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert default_threads([str(model)]) == (threads or len(os.sched_getaffinity(0)))


def test_a_checkpoint_is_whole_or_absent_when_its_writer_is_killed(model: Path, tmp_path: Path) -> None:
    """A process saves over and over until it is killed; what is there then loads."""
    place = tmp_path / "kept"
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from rtl_agent.backends.engine.causal_lm.engine import CausalLmEngine\n"
        "from rtl_agent.backends.engine.contract import Lora\n"
        f"model = CausalLmEngine([{str(model)!r}]).create({str(model)!r}, Lora(4))\n"
        f"place = Path({str(place)!r})\n"
        "model.save(place, optimizer=True)\nprint('ready', flush=True)\n"
        "while True:\n    model.save(place, optimizer=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait(30)
    engine = CausalLmEngine([str(model)])
    trained = engine.create(str(model), Lora(4, seed=5))
    kept = place if place.exists() else next(tmp_path.glob(".kept.*.old"))
    trained.load(kept, optimizer=True)
    engine.close()

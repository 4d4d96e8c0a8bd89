"""A GGUF file imported is the model that was written: weights, configuration, tokenizer, and what it computes."""

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from rtl_agent.backends.gguf import BadGguf, import_gguf, weights
from rtl_agent.backends.gguf.header import GgufFile
from rtl_agent.backends.models.registry import TOKENIZER
from rtl_agent.envs.renderers import UnknownRenderer, default_renderer
from rtl_agent.local_models import ModelCard
from tests.backends.gguf.tiny_gguf import END, TEMPLATE, TOKENS, WIDTH, random_model, write_tiny_gguf

TOKENS_ASKED = torch.tensor([[5, 80, 3, 200, 41, 7, 19, 23]])


def imported(tmp_path: Path, **how: Any) -> Path:
    return import_gguf(tmp_path / "model.gguf", tmp_path / "out", **how).directory


@pytest.mark.parametrize("architecture", ["qwen2", "qwen3", "llama"])
@pytest.mark.parametrize("tied", [True, False])
def test_it_is_the_model_that_was_written(tmp_path: Path, architecture: str, tied: bool) -> None:
    model = random_model(architecture, tied=tied)
    write_tiny_gguf(tmp_path / "model.gguf", architecture, model=model)
    directory = imported(tmp_path, dtype="float32")
    theirs = {name: value for name, value in model.state_dict().items() if not (tied and name == "lm_head.weight")}
    ours = load_file(directory / "model.safetensors")
    assert sorted(ours) == sorted(theirs)
    assert all(torch.equal(ours[name], value) for name, value in theirs.items())
    loaded = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    assert type(loaded) is type(model)
    with torch.no_grad():
        assert torch.equal(loaded(TOKENS_ASKED).logits, model(TOKENS_ASKED).logits)


@pytest.mark.parametrize("kind", [Type.F16, Type.BF16, Type.Q8_0, Type.Q5_1, Type.Q4_1, Type.Q4_0])
def test_every_tensor_is_dequantised(tmp_path: Path, kind: Type) -> None:
    model = write_tiny_gguf(tmp_path / "model.gguf", "llama", kind)
    found = load_file(imported(tmp_path, dtype="float32") / "model.safetensors")
    errors = {Type.F16: 1e-3, Type.BF16: 1e-2, Type.Q8_0: 1e-2, Type.Q5_1: 0.06, Type.Q4_1: 0.12, Type.Q4_0: 0.15}
    for name, value in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        apart = (found[name] - value).norm() / value.norm()
        assert apart <= errors[kind], name
        assert (apart == 0) == (value.ndim == 1), name


def test_q4_k_is_read_as_llama_cpp_defines_it(tmp_path: Path) -> None:
    """`gguf` cannot write it, so the blocks are random, and read here number by number."""
    random = np.random.default_rng(0)
    rows = len(TOKENS)
    raw = random.integers(0, 256, (rows, 144), np.uint8)
    raw[:, :4] = random.uniform(1e-3, 1e-2, (rows, 2)).astype("<f2").view(np.uint8)
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, leave_out=("token_embd.weight",), change=lambda writer: writer.add_tensor(
        "token_embd.weight", raw, raw_dtype=Type.Q4_K))  # fmt: skip
    found = load_file(imported(tmp_path, dtype="float32") / "model.safetensors")["model.embed_tokens.weight"]
    for row in (0, 1, rows - 1):
        assert found[row].tolist() == pytest.approx(_q4_k(raw[row].tobytes()), rel=1e-5, abs=1e-7)


def _q4_k(block: bytes) -> list[float]:
    d, least = struct.unpack("<2e", block[:4])
    packed, numbers = block[4:16], block[16:]
    values = []
    for group in range(8):
        if group < 4:
            scale, minimum = packed[group] & 63, packed[group + 4] & 63
        else:
            scale = (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4
            minimum = (packed[group + 4] >> 4) | (packed[group] >> 6) << 4
        half = numbers[group // 2 * 32 : group // 2 * 32 + 32]
        values += [d * scale * (byte >> 4 * (group % 2) & 15) - least * minimum for byte in half]
    return values


def test_bfloat16_is_rounded_as_torch_does(tmp_path: Path) -> None:
    model = write_tiny_gguf(tmp_path / "model.gguf", "llama")
    for name, value in load_file(imported(tmp_path) / "model.safetensors").items():
        assert torch.equal(value, model.state_dict()[name].bfloat16()), name


def test_rows_at_a_time_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny_gguf(tmp_path / "model.gguf", "llama", Type.Q8_0)
    whole = (imported(tmp_path) / "model.safetensors").read_bytes()
    monkeypatch.setattr(weights, "BLOCK", 5 * WIDTH)
    seen: list[tuple[int, int]] = []
    import_gguf(tmp_path / "model.gguf", tmp_path / "again", progress=lambda *at: seen.append(at))
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == whole
    assert seen[-1][0] == seen[-1][1]
    assert len(seen) > 100


def test_an_output_that_is_the_embedding_is_left_out(tmp_path: Path) -> None:
    model = random_model("qwen2")
    embedding = model.model.embed_tokens.weight.detach().numpy()
    finer = gguf.quants.quantize(embedding, Type.Q8_0)
    write_tiny_gguf(tmp_path / "model.gguf", "qwen2", Type.Q4_0, model=model, output=(finer, Type.Q8_0))
    directory = imported(tmp_path, dtype="float32")
    found = load_file(directory / "model.safetensors")
    assert "lm_head.weight" not in found
    assert json.loads((directory / "config.json").read_text())["tie_word_embeddings"] is True
    expected = torch.from_numpy(gguf.quants.dequantize(finer, Type.Q8_0))
    assert torch.equal(found["model.embed_tokens.weight"], expected), "the finer of the two"


def test_an_output_of_its_own_stays(tmp_path: Path) -> None:
    other = np.random.default_rng(1).normal(size=(len(TOKENS), WIDTH)).astype(np.float32)
    write_tiny_gguf(tmp_path / "model.gguf", "qwen2", Type.Q8_0, output=(other, Type.F32))
    directory = imported(tmp_path, dtype="float32")
    assert torch.equal(load_file(directory / "model.safetensors")["lm_head.weight"], torch.from_numpy(other))
    assert json.loads((directory / "config.json").read_text())["tie_word_embeddings"] is False


def test_tokenizer_template_and_ends_are_the_files(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    directory = imported(tmp_path)
    tokenizer, ours = AutoTokenizer.from_pretrained(directory), AutoTokenizer.from_pretrained(TOKENIZER)
    assert tokenizer.get_vocab() == ours.get_vocab()
    assert tokenizer.all_special_ids
    assert (tokenizer.eos_token_id, tokenizer.chat_template) == (END, TEMPLATE)
    text = "<|im_start|>assign y = ~a;<|im_end|>"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode(text)[-1] == END
    assert tokenizer.encode("<|im_end|>", split_special_tokens=True) != [END]
    for name in ("config.json", "generation_config.json"):
        assert json.loads((directory / name).read_text())["eos_token_id"][0] == END


def test_the_header_is_read_as_gguf_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, "llama", Type.Q4_1)
    theirs = gguf.GGUFReader(path)
    with GgufFile(path) as ours:
        for name, field in theirs.fields.items():
            if not name.startswith("GGUF."):
                assert ours.fields[name] == field.contents(), name
        assert len(ours.tensors) == len(theirs.tensors)
        for tensor in theirs.tensors:
            info = ours.tensors[tensor.name]
            assert (info.offset, info.bytes, info.type_number) == (
                tensor.data_offset,
                tensor.n_bytes,
                tensor.tensor_type,
            )


def test_a_directory_knows_its_renderer(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    assert default_renderer(str(imported(tmp_path))) == "qwen2_5", "by the name in the file"
    named = import_gguf(tmp_path / "model.gguf", tmp_path / "smol", card=ModelCard("x/SmolLM2-1M-Instruct"))
    assert default_renderer(str(named.directory)) == "smollm2"
    (named.directory / "rtl_agent.json").unlink()
    assert default_renderer(str(named.directory)) == "smollm2", "by config.json"


def test_without_a_chat_template_the_renderer_must_be_named(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf", template="")
    directory = imported(tmp_path)
    with pytest.raises(UnknownRenderer, match=r"no chat template.*set renderer_name to one of.*role_colon"):
        default_renderer(str(directory))


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    (tmp_path / "out").mkdir()
    with pytest.raises(BadGguf, match="out exists already: name another"):
        imported(tmp_path)


def test_a_full_disk_is_said_with_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 30_000_000}))
    with pytest.raises(BadGguf, match=r"needs 0\.04 GB, and .* has 0\.03 GB free"):
        imported(tmp_path)


def test_an_import_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imported(tmp_path, progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]

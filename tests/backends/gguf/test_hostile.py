"""A GGUF file is anybody's: whatever it says, the answer is a sentence, soon, and without taking memory for it."""

import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter

from rtl_agent.backends.gguf import BadGguf, import_gguf
from tests.backends.gguf.tiny_gguf import LAYERS, write_tiny_gguf

HUGE = 1 << 60
TEXT = struct.pack("<Q", 1) + b"k"


def header(tensors: int, fields: int, rest: bytes = b"", *, version: int = 3, padded: int = 4096) -> bytes:
    return (b"GGUF" + struct.pack("<IQQ", version, tensors, fields) + rest).ljust(padded, b"\0")


def array(kind: int, count: int) -> bytes:
    return TEXT + struct.pack("<IIQ", 9, kind, count)


def tensor(dimensions: list[int], kind: int = 0, offset: int = 0) -> bytes:
    return TEXT + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, offset)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not a GGUF file"),
        (b"GGML" * 100, "is not a GGUF file"),
        (b"GGUF", "is truncated"),
        (header(HUGE, 0), "announces 1,152,921,504,606,846,976 tensors"),
        (header(0, HUGE), "announces 1,152,921,504,606,846,976 fields"),
        (header(60_000, 0), "is truncated: it announces 60,000 tensors"),
        (header(0, 1, struct.pack("<Q", HUGE)), "the name of field 0 has 1,152,921,504,606,846,976 bytes"),
        (header(0, 1, TEXT + struct.pack("<IQ", 8, 1 << 23)), "is truncated: it ends within k"),
        (header(0, 1, array(8, HUGE)), "elements of k"),
        (header(0, 1, array(12, HUGE)), "elements of k"),
        (header(0, 1, array(12, 4_000_000)), "is truncated: it announces 4,000,000 elements of k"),
        (header(0, 1, array(9, 1)), "elements of the unknown type 9"),
        (header(0, 1, TEXT + struct.pack("<I", 13)), "the unknown type 13"),
        (header(0, 2, 2 * (TEXT + struct.pack("<IB", 0, 1))), "the field k is there twice"),
        (header(1, 0, tensor([])), "has 0 dimensions"),
        (header(1, 0, TEXT + struct.pack("<I", 1 << 31)), "has 2147483648 dimensions"),
        (header(1, 0, tensor([HUGE, HUGE, HUGE, HUGE])), "is truncated or damaged"),
        (header(1, 0, tensor([1], offset=HUGE)), "is truncated or damaged"),
        (header(1, 0, tensor([0])), "rows of 0"),
        (header(1, 0, tensor([31], kind=8)), "rows of 31, not a multiple of Q8_0's 32"),
        (header(1, 0, tensor([1], kind=999)), "unknown quantisation type 999"),
        (header(1, 0, tensor([1], kind=Type.I32)), "quantised as I32, which cannot be read. Known are BF16, F16"),
        (header(2, 0, 2 * tensor([1])), "two tensors have one name"),
        (header(0, 0, version=1), "version 1, and 2 and 3 are known"),
        (header(0, 0, version=3 << 24), "it is big-endian"),
        (header(0, 0), "its architecture is 'None', and llama, qwen2, qwen3 are known"),
    ],
)
def test_a_hostile_header_is_a_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "model.gguf").write_bytes(data)
    with pytest.raises(BadGguf) as caught:
        import_gguf(tmp_path / "model.gguf", tmp_path / "out")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 700
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def _set(key: str, value: Any, how: str = "add_uint32") -> Callable[[GGUFWriter], None]:
    def change(writer: GGUFWriter) -> None:
        writer.kv_data[0].pop(key, None)
        getattr(writer, how)(key, value)

    return change


def _vocabulary(**changed: Any) -> dict[str, Any]:
    known = {"tokens": ["a", "b", "ab", "<|im_end|>"], "types": [1, 1, 1, 3], "merges": ["a b"], "eos": 3}
    return known | changed


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"change": _set("general.architecture", "gemma3", "add_string")},
            "'gemma3', and llama, qwen2, qwen3 are known",
        ),
        ({"change": _set("general.alignment", 3)}, "general.alignment is 3"),
        ({"change": _set("qwen2.rope.scaling.type", "yarn", "add_string")}, "its positions are scaled (yarn)"),
        ({"change": _set("split.count", 4, "add_uint16")}, "one of 4 parts: join them"),
        ({"change": _set("qwen2.rope.freq_base", float("nan"), "add_float32")}, "rope.freq_base is nan"),
        ({"said": {"block_count": 1 << 24}}, "layers"),
        ({"said": {"block_count": LAYERS + 1}}, "the tensor blk.2.attn_k.bias is missing"),
        ({"said": {"block_count": LAYERS - 1}}, "has no tensor blk.1."),
        ({"said": {"head_count": 0}}, "head_count is 0, not a number from 1"),
        ({"said": {"head_count": 1 << 24}}, "shape"),
        ({"said": {"feed_forward_length": 8}}, "where the metadata calls for"),
        ({"leave_out": ("blk.1.ffn_up.weight",)}, "blk.1.ffn_up.weight is missing"),
        ({"leave_out": ("token_embd.weight",)}, "no matrix token_embd.weight"),
        ({"change": _set("tokenizer.ggml.pre", "tekken", "add_string")}, "pre-tokenizer is 'tekken'"),
        ({"change": _set("tokenizer.ggml.model", "llama", "add_string")}, "of the kind 'llama', and only gpt2"),
        ({"vocabulary": _vocabulary(merges=["a c"])}, "'a c' is not a merge of two of its tokens"),
        ({"vocabulary": _vocabulary(merges=["ab"])}, "'ab' is not a merge"),
        ({"vocabulary": _vocabulary(tokens=["a", "a", "ab", "x"])}, "two tokens of its vocabulary are the same"),
        ({"vocabulary": _vocabulary(tokens=["a" * 2000, "b", "ab", "x"])}, "a token has 2,000 characters"),
        ({"vocabulary": _vocabulary(types=[1])}, "not one entry for each token"),
        ({"vocabulary": _vocabulary(eos=4)}, "eos_token_id is 4, and it has 4 tokens"),
        ({"vocabulary": _vocabulary(tokens=["a"] * 9999, types=[1] * 9999)}, "9,999 tokens for"),
    ],
)
def test_metadata_that_cannot_be_right_are_a_sentence(tmp_path: Path, how: dict[str, Any], said: str) -> None:
    write_tiny_gguf(tmp_path / "model.gguf", **how)
    with pytest.raises(BadGguf) as caught:
        import_gguf(tmp_path / "model.gguf", tmp_path / "out")
    assert said in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "whole.gguf")
    whole = (tmp_path / "whole.gguf").read_bytes()
    cut = tmp_path / "model.gguf"
    for length in [*range(0, 200, 3), *range(200, len(whole), len(whole) // 60), len(whole) - 100]:
        cut.write_bytes(whole[:length])
        with pytest.raises(BadGguf, match=r"truncated|not a GGUF"):
            import_gguf(cut, tmp_path / "out")


def test_bytes_that_flip_are_refused_or_imported_but_break_nothing(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "whole.gguf", vocabulary=_vocabulary(eos=3))
    whole = bytearray((tmp_path / "whole.gguf").read_bytes())
    random = np.random.default_rng(0)
    refused = 0
    for number in range(200):
        damaged = bytearray(whole)
        for at in random.integers(0, 4000, 2):
            damaged[at] = random.integers(0, 256)
        (tmp_path / "model.gguf").write_bytes(damaged)
        try:
            import_gguf(tmp_path / "model.gguf", tmp_path / f"out{number}")
        except BadGguf:
            refused += 1
    assert refused > 50


def test_a_hostile_header_takes_no_memory(tmp_path: Path) -> None:
    """In a process that may have 4 GB: it has imported torch, and nothing more is taken."""
    (tmp_path / "model.gguf").write_bytes(header(HUGE, HUGE))
    program = "import sys; from rtl_agent.cli.main import app; app(sys.argv[1:])"
    command = [sys.executable, "-c", program, "models", "import", str(tmp_path / "model.gguf"), str(tmp_path / "out")]
    limit = (4 << 30, 4 << 30)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    assert done.returncode == 2
    assert "announces 1,152,921,504,606,846,976 tensors" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr

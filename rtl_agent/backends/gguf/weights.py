"""A GGUF file's tensors as one safetensors file, a few rows at a time: memory stays at a block, whatever the model."""

import json
import struct
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rtl_agent.backends.gguf.architectures import Model, Target
from rtl_agent.backends.gguf.header import GgufFile, TensorInfo

Floats = np.ndarray[Any, np.dtype[np.float32]]
DType = Literal["bfloat16", "float32"]
WIDTH = {"bfloat16": 2, "float32": 4}
BLOCK = 4 * 1024 * 1024  # weights at a time; `gguf` takes about 10 times as many bytes for them while it works
# Two quantisations of one matrix: 4 bits and 6 bits of Qwen2.5-Coder's embedding differ by 0.07 of its root mean
# square, two matrices that have nothing to do with each other by 1.4.
SAME_MATRIX = 0.25


def sources(file: GgufFile, model: Model) -> tuple[dict[str, TensorInfo], bool]:
    """Hugging Face's name of each tensor to write, where it comes from, and whether the embedding is tied.

    A file may have the output's matrix although it is the embedding's, often in another quantisation. Then it is left
    out, and the embedding is taken from the finer of the two.
    """
    found = {target.name: file.tensors[name] for name, target in model.targets().items() if name in file.tensors}
    embedding, head = found["model.embed_tokens.weight"], found.get("lm_head.weight")
    if head is None:
        return found, True
    if _difference(file, embedding, head) > SAME_MATRIX:
        return found, False
    finer = max(embedding, head, key=lambda info: info.row_bytes)
    del found["lm_head.weight"]
    return found | {"model.embed_tokens.weight": finer}, True


def _difference(file: GgufFile, one: TensorInfo, other: TensorInfo) -> float:
    """Root mean square of the difference, in that of the first."""
    if one.type_number == other.type_number and all(
        (file.raw_rows(one, *at) == file.raw_rows(other, *at)).all() for at in _blocks(one)
    ):
        return 0.0
    apart = size = 0.0
    for at in _blocks(one):
        first = dequantized(file, one, *at)
        apart += float(np.square(first - dequantized(file, other, *at)).sum(dtype=np.float64))
        size += float(np.square(first).sum(dtype=np.float64))
    return float(np.sqrt(apart / size)) if size and np.isfinite(apart) else float("inf")


def dequantized(file: GgufFile, tensor: TensorInfo, first: int, last: int, target: Target | None = None) -> Floats:
    """Rows first to last, in float32; with `target`, of the tensor as Hugging Face orders it."""
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize

    rows = target.source_rows(first, last) if target else None
    if rows is None:
        raw = file.raw_rows(tensor, first, last)
    else:
        low, high = int(rows.min()), int(rows.max()) + 1
        raw = file.raw_rows(tensor, low, high)[rows - low]
    with np.errstate(all="ignore"):  # a scale may be infinite: the weights say so, not numpy
        return np.asarray(dequantize(raw, GGMLQuantizationType(tensor.type_number)), np.float32)


def _blocks(tensor: TensorInfo) -> Iterator[tuple[int, int]]:
    step = max(1, BLOCK // tensor.shape[-1])
    for first in range(0, tensor.rows, step):
        yield first, min(first + step, tensor.rows)


def size_of(model: Model, chosen: dict[str, TensorInfo], dtype: DType) -> int:
    """Bytes of the weights."""
    return sum(prod(info.shape) for info in chosen.values()) * WIDTH[dtype]


def write_weights(
    file: GgufFile,
    model: Model,
    chosen: dict[str, TensorInfo],
    path: Path,
    dtype: DType,
    written: Callable[[int], None],
) -> None:
    """`written` is told how many weights more there are now."""
    targets = {target.name: target for target in model.targets().values()}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, info in chosen.items():
        size = prod(info.shape) * WIDTH[dtype]
        kind = "BF16" if dtype == "bfloat16" else "F32"
        header[name] = {"dtype": kind, "shape": list(info.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # tensors are to begin at a multiple of 8
    with path.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, info in chosen.items():
            for first, last in _blocks(info):
                values = dequantized(file, info, first, last, targets[name])
                out.write(_as_bytes(values, dtype))
                written(values.size)


def _as_bytes(values: Floats, dtype: DType) -> bytes:
    if dtype == "float32":
        return values.tobytes()
    import torch

    ours = np.require(values, requirements=["C", "W"])  # float32 is a view of the file
    return bytes(torch.from_numpy(ours).to(torch.bfloat16).view(torch.int16).numpy().tobytes())

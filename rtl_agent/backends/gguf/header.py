"""What a GGUF file says of itself: metadata, and where each tensor is. The file is hostile until proven otherwise.

PyPI's `gguf` has a reader too, which takes every count as it is written. Here nothing is allocated, and no loop begun,
for more than the rest of the file could hold.
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"GGUF"
VERSIONS = (2, 3)  # 1 had counts of 32 bits, for some weeks of 2023
# Far above what any model has: Llama 3.1 405B has 1,139 tensors, the largest vocabularies 262,144 tokens.
MOST_TENSORS, MOST_FIELDS = 65_536, 65_536
MOST_ELEMENTS = 4_194_304  # of one array
LONGEST_NAME, LONGEST_TEXT = 65_535, 16 * 1024 * 1024
MOST_DIMENSIONS = 4
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class BadGguf(Exception):
    """The file cannot be imported; the message says why, for the person who named it."""


@dataclass(frozen=True)
class TensorInfo:
    """`shape` as numpy has it, rows first; `offset` from the beginning of the file."""

    name: str
    shape: tuple[int, ...]
    type_number: int
    type_name: str
    offset: int
    row_bytes: int

    @property
    def rows(self) -> int:
        return prod(self.shape[:-1])

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes


class GgufFile:
    """An open file: its fields, its tensors, and the bytes of either."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self.size = path.stat().st_size
                if file.read(4) != MAGIC:
                    raise BadGguf(f"{path} is not a GGUF file: it does not begin with the letters GGUF.")
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise BadGguf(f"{path} cannot be read: {error.strerror or error}.") from None
        self._at = 4
        self.fields: Mapping[str, Any] = {}
        self.tensors: Mapping[str, TensorInfo] = {}
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._data.close()

    def __enter__(self) -> "GgufFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def raw_rows(self, tensor: TensorInfo, first: int, last: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A copy, so that the file can be closed whatever is still held."""
        begin = tensor.offset + first * tensor.row_bytes
        data = self._data[begin : begin + (last - first) * tensor.row_bytes]
        return np.frombuffer(data, np.uint8).reshape(last - first, tensor.row_bytes)

    def _read(self) -> None:
        version = self._number("I", "its version")
        if version not in VERSIONS:
            wrong_end = int.from_bytes(version.to_bytes(4, "little"), "big")
            why = "it is big-endian" if wrong_end in VERSIONS else f"it has version {version}, and 2 and 3 are known"
            raise BadGguf(f"{self.path} cannot be imported: {why}.")
        tensors = self._count("Q", MOST_TENSORS, 32, "tensors")
        fields = self._count("Q", MOST_FIELDS, 13, "fields of metadata")
        found: dict[str, Any] = {}
        for number in range(fields):
            key = self._text(LONGEST_NAME, f"the name of field {number}")
            if key in found:
                raise self._wrong(f"the field {key} is there twice")
            found[key] = self._value(self._number("I", f"the type of {key}"), key)
        self.fields = found
        infos = [self._tensor(number) for number in range(tensors)]
        start = self._aligned(self._at)
        self.tensors = {info.name: self._placed(info, start) for info in infos}
        if len(self.tensors) < len(infos):
            raise self._wrong("two tensors have one name")

    def _aligned(self, at: int) -> int:
        alignment = self.fields.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 65_536 or alignment & (alignment - 1):
            raise self._wrong(f"general.alignment is {str(alignment)[:40]}, not a power of two up to 65536")
        return -(-at // alignment) * alignment

    def _tensor(self, number: int) -> TensorInfo:
        name = self._text(LONGEST_NAME, f"the name of tensor {number}")
        dimensions = self._number("I", f"the shape of {name}")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise self._wrong(f"the tensor {name} has {dimensions} dimensions, not 1 to {MOST_DIMENSIONS}")
        shape = tuple(self._number("Q", f"the shape of {name}") for _ in range(dimensions))[::-1]
        kind = self._number("I", f"the type of {name}")
        type_name, per_block, block_bytes = _block(kind, name, self.path)
        if 0 in shape or shape[-1] % per_block:
            raise self._wrong(f"the tensor {name} has rows of {shape[-1]}, not a multiple of {type_name}'s {per_block}")
        offset = self._number("Q", f"the place of {name}")
        return TensorInfo(name, shape, kind, type_name, offset, shape[-1] // per_block * block_bytes)

    def _placed(self, info: TensorInfo, start: int) -> TensorInfo:
        begin = start + info.offset
        if begin + info.bytes > self.size:
            raise BadGguf(
                f"{self.path} is truncated or damaged: the tensor {info.name[:100]} ends at byte "
                f"{begin + info.bytes:,}, the file at {self.size:,}. Download it again."
            )
        return replace(info, offset=begin)

    def _value(self, kind: int, key: str) -> Any:
        if kind == _STRING:
            return self._text(LONGEST_TEXT, key)
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _NUMBERS:
            raise self._wrong(f"the field {key} has the unknown type {kind}")
        return self._number(_NUMBERS[kind], key)

    def _array(self, key: str) -> list[Any]:
        kind = self._number("I", key)
        if kind == _STRING:
            count = self._count("Q", MOST_ELEMENTS, 8, f"elements of {key}")
            return [self._text(LONGEST_TEXT, key) for _ in range(count)]
        if kind not in _NUMBERS:
            raise self._wrong(f"the array {key} has elements of the unknown type {kind}")
        size = struct.calcsize(f"<{_NUMBERS[kind]}")
        count = self._count("Q", MOST_ELEMENTS, size, f"elements of {key}")
        return list(struct.unpack(f"<{count}{_NUMBERS[kind]}", self._take(count * size, key)))

    def _text(self, longest: int, what: str) -> str:
        length = self._number("Q", what)
        if length > longest:
            raise self._wrong(f"{what} has {length:,} bytes, more than the {longest:,} that are read")
        return self._take(length, what).decode(errors="replace")

    def _count(self, kind: str, most: int, least_bytes: int, what: str) -> int:
        count: int = self._number(kind, what)
        if count > most:
            raise self._wrong(f"it announces {count:,} {what}, more than the {most:,} that are read")
        if count * least_bytes > self.size - self._at:
            raise BadGguf(f"{self.path} is truncated: it announces {count:,} {what}, and ends before. Get it again.")
        return count

    def _number(self, kind: str, what: str) -> Any:
        (found,) = struct.unpack(f"<{kind}", self._take(struct.calcsize(f"<{kind}"), what))
        return found

    def _take(self, size: int, what: str) -> bytes:
        if size > self.size - self._at:
            raise BadGguf(f"{self.path} is truncated: it ends within {what[:100]}. Download it again.")
        data = self._data[self._at : self._at + size]
        self._at += size
        return data

    def _wrong(self, why: str) -> BadGguf:
        return BadGguf(f"{self.path} cannot be imported: {why[:300]}.")


def _block(kind: int, tensor: str, path: Path) -> tuple[str, int, int]:
    """Name of a quantisation, elements and bytes of its block. BadGguf for one that cannot be read."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        known = GGMLQuantizationType(kind)
    except ValueError:
        raise BadGguf(
            f"{path} cannot be imported: the tensor {tensor[:100]} has the unknown quantisation type {kind}. "
            "A newer version of the Python package gguf may know it."
        ) from None
    if known not in dequantizable():
        raise BadGguf(
            f"{path} cannot be imported: the tensor {tensor[:100]} is quantised as {known.name}, which cannot be read. "
            f"Known are {', '.join(sorted(one.name for one in dequantizable()))}."
        )
    return known.name, *GGML_QUANT_SIZES[known]


@cache
def dequantizable() -> frozenset[Any]:
    """The types that `gguf` can turn into float32, found by trying a block of zeros of each."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    def works(kind: Any) -> bool:
        try:
            dequantize(np.zeros((1, GGML_QUANT_SIZES[kind][1]), np.uint8), kind)
        except (NotImplementedError, KeyError):
            return False
        return True

    return frozenset(kind for kind in GGMLQuantizationType if works(kind))

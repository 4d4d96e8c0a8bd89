"""What a model's weight files hold, by their headers alone: how many numbers, of which type, and whether all is there.

A header is some kilobytes of JSON before gigabytes of numbers, so this takes milliseconds whatever the model's size.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.backends.engine.contract import EngineError

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_MOST_HEADER = 100_000_000  # safetensors' own limit
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
HALVES = frozenset({"F16", "BF16"})


@dataclass(frozen=True)
class WeightFiles:
    """`parameters`: numbers in all tensors; `types`: how many of them are of each safetensors type."""

    paths: tuple[Path, ...]
    parameters: int
    types: dict[str, int]

    @property
    def mostly_half(self) -> bool:
        return sum(self.types.get(name, 0) for name in HALVES) > self.parameters / 2


def weight_paths(directory: Path) -> list[Path]:
    index = directory / INDEX
    if index.is_file():
        try:
            names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            return [directory / name for name in sorted(names)]
        except (ValueError, KeyError, AttributeError, TypeError, OSError):
            raise EngineError(f"{index} is not an index of weight files.") from None
    if not (directory / SINGLE).is_file():
        raise EngineError(f"{directory} has no {SINGLE} (nor an index of several).")
    return [directory / SINGLE]


def read_weight_files(directory: Path) -> WeightFiles:
    """EngineError where a file is missing, cut short or not of this format."""
    paths = weight_paths(directory)
    types: dict[str, int] = {}
    for path in paths:
        for name, count in _types(path).items():
            types[name] = types.get(name, 0) + count
    return WeightFiles(tuple(paths), sum(types.values()), types)


def _types(path: Path) -> dict[str, int]:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _MOST_HEADER):
                raise EngineError(f"{path} is damaged: its header does not fit into the file. Download it again.")
            header = json.loads(file.read(length))
        end = 0
        types: dict[str, int] = {}
        for name, tensor in header.items():
            if name != "__metadata__":
                count = math.prod(tensor["shape"])
                types[tensor["dtype"]] = types.get(tensor["dtype"], 0) + count
                end = max(end, tensor["data_offsets"][1])
    except OSError as error:
        raise EngineError(
            f"The weights in {path} cannot be read: {error.strerror}. Download the model again."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise EngineError(f"{path} is damaged: its header is not that of safetensors. Download it again.") from None
    if size != 8 + length + end:
        raise EngineError(
            f"{path} is damaged: it has {size:,} bytes where its header says {8 + length + end:,}. Download it again."
        )
    return types

"""Any value of a run -> strict JSON on one line, and back; a torn last line is not an error."""

import dataclasses
import enum
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rtl_agent.runs.errors import RunError, cannot


def to_line(value: Any) -> str:
    """One line without its newline. ASCII only: a lone surrogate in a model's text must not stop the run."""
    try:
        # 64 episodes of 4,096 tokens: 1.1 s of CPU by way of `plain`, 0.4 s without.
        return json.dumps(value, allow_nan=False, default=plain)
    except (TypeError, ValueError):
        return json.dumps(plain(value), allow_nan=False)


def plain(value: Any) -> Any:
    """The same value from dicts, lists and JSON's own scalars; NaN and infinities, which JSON lacks, become null."""
    match value:
        case enum.Enum():
            return plain(value.value)
        case None | bool() | str() | int():
            return value
        case float():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=str)
        case Path():
            return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "tolist"):  # arrays, tensors and their scalars
        return plain(value.tolist())
    raise TypeError(f"a {type(value).__name__} cannot be kept in a run directory: {value!r}")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that may still be written: nothing if it is missing, and not its torn last line."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot("read", path, error) from error
    whole_lines = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole_lines.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise RunError(f"{path}:{number} is not JSON ({error}); mend or remove this line") from error
        if not isinstance(record, dict):
            raise RunError(f"{path}:{number} is not a JSON object; mend or remove this line")
        yield record


def read_object(path: Path) -> dict[str, Any]:
    """A file that is one JSON object."""
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise cannot("read", path, error) from error
    except ValueError as error:
        raise RunError(f"{path} is not JSON ({error}); mend it, or start a run elsewhere") from error
    if not isinstance(record, dict):
        raise RunError(f"{path} is not a JSON object; mend it, or start a run elsewhere")
    return record

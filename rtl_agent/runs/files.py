"""Files that a kill, a power cut or a full disk cannot tear: appended lines, replaced files, strict JSON, errors."""

import contextlib
import dataclasses
import enum
import errno
import io
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rtl_agent.runs.packing import is_packed, members, unpack


class RunError(Exception):
    """A run directory cannot be used as asked; the message says why and what to do."""


_WHAT_TO_DO = {
    errno.ENOSPC: "the disk is full: free some space and resume, what was written before is kept",
    errno.EDQUOT: "the disk quota is used up: free some space and resume, what was written before is kept",
    errno.EFBIG: "the file would be larger than this system allows; what was written before is kept",
    errno.EACCES: "permission denied: choose a folder that you may write to",
    errno.EPERM: "permission denied: choose a folder that you may write to",
    errno.EROFS: "the file system is read-only: choose a folder that you may write to",
    errno.ENOTDIR: "a part of the path is a file, not a folder: choose another path",
}


def cannot(doing: str, path: Path, error: OSError) -> RunError:
    """`cannot("write", path, error)`: the sentence for an error of the operating system."""
    cause = _WHAT_TO_DO.get(error.errno or 0, error.strerror or str(error))
    return RunError(f"cannot {doing} {path}: {cause}")


def append_line(path: Path, line: str) -> None:
    """One line in one write. What a full disk cuts short is taken back, so the file stays a list of whole lines."""
    data = line.encode(errors="backslashreplace") + b"\n"
    try:
        is_new = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size_before = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size_before)
                raise
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error


def write_whole(path: Path, data: bytes) -> None:
    """The whole file or what was there before, never a part: written beside, synced, renamed."""
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            beside.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed `write_whole` had not renamed yet."""
    for path in folder.glob(".*.new"):
        try:
            path.unlink()
        except OSError as error:
            raise cannot("remove", path, error) from error


def cut_torn_line(path: Path) -> None:
    """Cut what a killed writer left after the last newline."""
    try:
        with path.open("r+b") as file:
            data = file.read()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                file.truncate(whole)
                os.fsync(file.fileno())
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot("repair", path, error) from error


def sync_folder(folder: Path) -> None:
    """A new name is safe only once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    """One write in all but one case: a disk that fills up takes a part, and the next write tells why."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


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


def read_regular(path: Path) -> bytes:
    """The bytes of a file. OSError for a pipe or a device, on which a reader would wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return file.read()


def read_small_json(path: Path, most_bytes: int = 4 << 20) -> Any:
    """None for a file that is missing, broken, or too long to be one of ours."""
    try:
        if path.stat().st_size > most_bytes:
            return None
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that may still be written: nothing if it is missing, and not its torn last line."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot("read", path, error) from error
    for number, line in enumerate(_whole_lines(data), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path}:{number} is not valid JSON ({error}); fix or remove this line") from error
        if not isinstance(record, dict):
            raise RunError(f"{path}:{number} is not a JSON object; fix or remove this line")
        yield record


def _whole_lines(data: bytes) -> Iterator[bytes]:
    """Of a member that is too long, or damaged, a line that is not JSON: whoever reads lines says which one it is."""
    if is_packed(data):
        yield from ((None if isinstance(one, int) else unpack(one)) or b"?" for one in members(io.BytesIO(data)))
    else:
        yield from data[: data.rfind(b"\n") + 1].split(b"\n")


def read_object(path: Path) -> dict[str, Any]:
    """A file that is one JSON object."""
    try:
        record = json.loads(read_regular(path))
    except OSError as error:
        raise cannot("read", path, error) from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not valid JSON ({error}); fix it, or start a new run elsewhere") from error
    if not isinstance(record, dict):
        raise RunError(f"{path} is not a JSON object; fix it, or start a new run elsewhere")
    return record

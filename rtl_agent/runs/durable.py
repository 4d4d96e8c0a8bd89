"""Writes that a kill, a power cut or a full disk cannot tear: whole lines appended, whole files replaced."""

import contextlib
import os
from pathlib import Path

from rtl_agent.runs.errors import cannot


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
        raise cannot("mend", path, error) from error


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

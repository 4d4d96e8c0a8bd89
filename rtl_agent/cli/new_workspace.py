"""A folder for a person to work in: files whose names and contents others chose, and a `run.sh` of our own.

Nothing of a submission or a data set becomes part of a shell script but as one quoted word, and nothing is written
outside of the folder: it is new or empty, every path is a plain one below it, and no link is followed.
"""

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rtl_agent.problems import why_unsafe

RUN = "run.sh"


class CannotWrite(ValueError):
    """The folder cannot be made as asked. The message says why, and what to do."""


def ensure_new(directory: Path) -> None:
    """CannotWrite unless there is nothing yet, or an empty folder."""
    try:
        if directory.is_dir() and not any(directory.iterdir()):
            return
        if not directory.exists() and not directory.is_symlink():
            return
    except OSError as error:
        raise CannotWrite(f"{directory}: {error.strerror}") from error
    raise CannotWrite(f"{directory} is not an empty directory; name one that is new or empty")


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Each file below the folder, which is made if need be."""
    for path, text in files.items():
        if (reason := why_unsafe(path)) is not None:
            raise CannotWrite(f"the file {path[:200]!r} {reason}: it cannot be written")
        _write(directory, path, text.encode(errors="replace"), 0o644)


def write_run(directory: Path, comment: Sequence[str], before: Sequence[str], after: Sequence[str] = ()) -> None:
    """`run.sh`: rtl-agent with `before`, this folder, and `after`; what the caller adds goes to the end of its options.

    It starts the rtl-agent that wrote it, and any other where that is gone.
    """
    own = shlex.join([sys.executable, "-P", "-m", "rtl_agent.cli.main"])
    lines = [
        "#!/bin/sh",
        *(f"# {line}" for line in comment),
        "case $0 in */*) here=${0%/*}/ ;; *) here=./ ;; esac",
        "case $here in /*) ;; *) here=./$here ;; esac",
        f'rtl_agent() {{ if [ -x {shlex.quote(sys.executable)} ]; then {own} "$@"; else command rtl-agent "$@"; fi; }}',
        f'rtl_agent {shlex.join(before)} "$here" {shlex.join(after)}'.rstrip() + ' "$@"',
    ]
    _write(directory, RUN, ("\n".join(lines) + "\n").encode(), 0o755)


def _write(directory: Path, path: str, data: bytes, mode: int) -> None:
    """Every folder is opened through no link, and the file must be new: two names that fall together are an error."""
    *parents, name = path.split("/")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        opened = [os.open(directory, os.O_RDONLY | os.O_DIRECTORY)]
    except OSError as error:
        raise CannotWrite(f"{directory}: {error.strerror}") from error
    try:
        for parent in parents:
            with contextlib.suppress(FileExistsError):
                os.mkdir(parent, dir_fd=opened[-1])
            opened.append(os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, mode, dir_fd=opened[-1])
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise CannotWrite(f"{directory}/{path}: {error.strerror}") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)

"""One writer for a run directory at a time, and none once that process is gone."""

import fcntl
import os
import socket
import time
from pathlib import Path

from rtl_agent.runs.errors import RunError, cannot
from rtl_agent.runs.layout import LOCK

# A reader that asks `is_locked` holds the lock for microseconds; a writer that starts just then must not fail.
_TRIES, _PAUSE_SECONDS = 20, 0.05

_held: set[int] = set()


class RunLock:
    """Held from construction to `release`, or to the end of the process however it ends."""

    def __init__(self, run: Path) -> None:
        path = run / LOCK
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot("lock", path, error) from error
        if not _acquire(self._descriptor):
            owner = os.pread(self._descriptor, 200, 0).decode(errors="replace").strip() or "another process"
            os.close(self._descriptor)
            raise RunError(
                f"{run} is being written by {owner}: two trainers cannot share a run; wait for it, stop it, or choose "
                "another log_path"
            )
        _held.add(self._descriptor)
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        except OSError as error:
            self.release()
            raise cannot("lock", path, error) from error

    def release(self) -> None:
        if self._descriptor in _held:
            _held.discard(self._descriptor)
            os.close(self._descriptor)


def is_locked(run: Path) -> bool:
    """Whether some process is writing this run now."""
    try:
        descriptor = os.open(run / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquire(descriptor: int) -> bool:
    for attempt in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if attempt + 1 < _TRIES:
                time.sleep(_PAUSE_SECONDS)
    return False


def _close_in_child() -> None:
    """A forked child shares the lock: one that outlived a killed trainer would keep its run from resuming."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)

"""The run directory: the names in it, its one writer at a time, and what to do when it is there already."""

import enum
import fcntl
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.runs.files import RunError, cannot
from rtl_agent.runs.packing import SUFFIX

CONFIG, METRICS, CHECKPOINTS, LOGS = "config.json", "metrics.jsonl", "checkpoints.jsonl", "logs.log"
CODE_DIFF, REPORT, LOCK, HELD_OUT, STARTS = "code.diff", "report.html", ".lock", "held_out.jsonl", "starts.jsonl"
TRUST = "trust.json"
TIMELINE = "timeline.jsonl"
CURRICULUM_START, CURRICULUM = "curriculum.json", "curriculum.jsonl"
ROLLOUTS, CHECKPOINT_FOLDER = "rollouts", "checkpoints"

_ROLLOUT_NAME = re.compile(r"([a-z]+)_(\d{6,})\.jsonl(?:\.gz)?")


@dataclass(frozen=True)
class RolloutFile:
    """The episodes of a step (`step_000012.jsonl`), an evaluation (`eval_000010.jsonl`), or the teacher's own; `.gz`
    where its lines are packed."""

    path: Path
    kind: str
    step: int


def rollout_path(run: Path, kind: str, step: int, *, packed: bool = False) -> Path:
    name = f"{kind}_{step:06d}.jsonl{SUFFIX if packed else ''}"
    if not _ROLLOUT_NAME.fullmatch(name):
        raise ValueError(
            f"rollouts of kind {kind!r} at step {step} have no file name: small letters, and a step from 0"
        )
    return run / ROLLOUTS / name


def rollout_files(run: Path) -> Iterator[RolloutFile]:
    """In the order of their steps."""
    found = ((path, _ROLLOUT_NAME.fullmatch(path.name)) for path in (run / ROLLOUTS).glob("*.jsonl*"))
    files = [RolloutFile(path, match[1], int(match[2])) for path, match in found if match]
    yield from sorted(files, key=lambda file: (file.step, file.kind))


def is_run(path: Path) -> bool:
    """A config alone is no run: many a project has a config.json."""
    others = (METRICS, CHECKPOINTS, LOGS, LOCK)
    return (path / CONFIG).is_file() and any((path / name).is_file() for name in others)


def is_unused(path: Path) -> bool:
    """Missing, empty, or left by a run that was killed before it had a config."""
    return not path.exists() or all(child.name == LOCK or child.name == f".{CONFIG}.new" for child in path.iterdir())


class IfExists(enum.StrEnum):
    DELETE = "delete"
    RESUME = "resume"
    ASK = "ask"
    RAISE = "raise"


def decide(path: Path, wish: IfExists, ask: Callable[[str], str] | None) -> IfExists:
    """DELETE or RESUME for a run that is there, RAISE ("there was none") for a new one."""
    try:
        if is_unused(path):
            return IfExists.RAISE
    except OSError as error:
        raise cannot("use", path, error) from error
    if not is_run(path):
        raise RunError(
            f"{path} has files in it and is not a run directory; nothing was changed, choose another log_path"
        )
    if wish is IfExists.ASK:
        wish = _answer(path, ask)
    if wish is IfExists.RAISE:
        raise RunError(
            f"{path} already holds a run: resume it with behavior_if_log_dir_exists=resume, replace it with "
            "behavior_if_log_dir_exists=delete, or choose another log_path"
        )
    return wish


def _answer(path: Path, ask: Callable[[str], str] | None) -> IfExists:
    if ask is None:
        if not sys.stdin or not sys.stdin.isatty():
            raise RunError(
                f"{path} already holds a run, and there is no terminal to ask what to do with it: give "
                "behavior_if_log_dir_exists=resume, delete or raise"
            )
        ask = input
    while True:
        answer = ask(f"{path} already holds a run. resume, delete or quit? ").strip().lower()
        if answer in (IfExists.RESUME, IfExists.DELETE):
            return IfExists(answer)
        if answer in ("quit", "q", "exit", ""):
            raise RunError(f"stopped: {path} already holds a run, and it was left as it is")


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
        descriptor = os.open(run / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
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

"""Grades by content in one SQLite file, which many processes share and no kill -9 can break."""

import fcntl
import json
import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from rtl_agent.grading.grade import Grade, Outcome, Reward

_log = logging.getLogger(__name__)
_APPLICATION = 0x52544C47  # "RTLG", in the file's header: tells ours from any other SQLite file
_SCHEMA = 1
_BUSY_SECONDS = 60.0  # of 16 processes that wrote without pause on two busy cores, none waited more than 1 s
_TABLE = "CREATE TABLE grades (key TEXT PRIMARY KEY, made REAL NOT NULL, grade BLOB NOT NULL) WITHOUT ROWID"
_NO_REWARD = Reward({}, 0.0, 0.0)


def default_cache_path() -> Path:
    """$XDG_CACHE_HOME/rtl-agent/grades.sqlite."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base).absolute() / "rtl-agent" / "grades.sqlite"


class _Foreign(Exception):
    """The file is a database of something else, or damaged."""


class GradeCache:
    """Grades that were made before, in one SQLite file. Hand it to a `Grader`.

    Several threads and processes can use the same file. A fault of the cache costs time, never a grade.

    Args:
        path: the file, made where it is missing; None keeps nothing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import rtl_agent as ra
        >>> with tempfile.TemporaryDirectory() as folder, ra.GradeCache(Path(folder) / "grades.sqlite") as cache:
        ...     with ra.SyncGrader(cache=cache) as grader:
        ...         grade = grader.grade_reply(ra.load_problems("bundled")[0], "no code")
        >>> grade.cached
        False
    """

    def __init__(self, path: Path | None) -> None:
        # Reads and writes have a connection each: a reader never waits in WAL mode, not even for our own writer.
        self.path = path
        self._lock, self._write_lock = threading.Lock(), threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        if path is not None:
            self._open(path)

    def __enter__(self) -> "GradeCache":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._write_lock, self._lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._reader = self._writer = None

    def get(self, key: str) -> Grade | None:
        """The grade, without a reward; None when there is none, or none that can be read."""
        try:
            with self._lock:
                if self._reader is None:
                    return None
                row = self._reader.execute("SELECT grade FROM grades WHERE key = ?", (key,)).fetchone()
            return None if row is None else replace(_unpack(row[0]), cached=True)
        except sqlite3.Error as error:
            self._failed(error)
        except (zlib.error, ValueError, TypeError, KeyError) as error:
            _log.warning("a cached grade cannot be read and is made again: %s", error)
        return None

    def put(self, key: str, grade: Grade) -> None:
        """Keep a grade for all to find. `error` is our own fault of the moment and is not kept."""
        if grade.outcome is Outcome.ERROR:
            return
        row = (key, time.time(), _pack(grade))
        try:
            with self._write_lock:
                if self._writer is not None:
                    self._writer.execute("INSERT OR REPLACE INTO grades VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            self._failed(error)

    def _open(self, path: Path, *, thorough: bool = False) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(path):
                try:
                    self._writer = _connect(path, thorough=thorough)
                except (_Foreign, sqlite3.DatabaseError) as error:
                    # Locked, no room, not allowed: says nothing about what is in the file.
                    if isinstance(error, sqlite3.OperationalError):
                        raise
                    _move_aside(path, error)
                    self._writer = _connect(path)
                self._reader = _connect(path)
        except (OSError, sqlite3.Error) as error:
            self.close()
            _log.warning("no cache of grades at %s: %s", path, error)

    def _failed(self, error: sqlite3.Error) -> None:
        """A damaged file is replaced; whatever else it is, the grade at hand is only not kept."""
        if isinstance(error, sqlite3.OperationalError) or self.path is None:
            _log.warning("the cache of grades at %s: %s", self.path, error)
            return
        self.close()
        self._open(self.path, thorough=True)  # the damage may be deep inside, and another process quicker


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time opens the file: two would move each other's new one aside.

    SQLite's own locks do not help here: switching to WAL fails at once with "database is locked", whatever the timeout.
    """
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _connect(path: Path, *, thorough: bool = False) -> sqlite3.Connection:
    """Autocommit: each grade is a transaction of its own, so a row is there entirely or not at all."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (tables or application or schema) and (application, schema) != (_APPLICATION, _SCHEMA):
            raise _Foreign(f"application {application}, schema {schema}")
        if thorough and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise _Foreign(found)
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL syncs at checkpoints only: a loss of power may take the last grades with it, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            connection.executescript(
                f"BEGIN IMMEDIATE; {_TABLE}; PRAGMA application_id = {_APPLICATION};"
                f"PRAGMA user_version = {_SCHEMA}; COMMIT;"
            )
        connection.execute("SELECT key, made, grade FROM grades LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _move_aside(path: Path, error: Exception) -> None:
    aside = path.with_name(f"{path.name}.aside-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    _log.warning("%s is not a cache of grades (%s): moved to %s, a new one is made", path, error, aside)
    for suffix in ("", "-wal", "-shm"):  # SQLite would replay another file's log into the new one
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))


def _pack(grade: Grade) -> bytes:
    """2 to 7 kB of JSON become 0.7 to 0.9 kB."""
    return zlib.compress(json.dumps(replace(grade, reward=_NO_REWARD, cached=False).to_json()).encode("ascii"), 1)


def _unpack(packed: bytes) -> Grade:
    return Grade.from_json(json.loads(zlib.decompress(packed)))

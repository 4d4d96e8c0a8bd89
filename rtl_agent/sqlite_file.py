"""One SQLite file that many processes and threads share, that no kill -9 can break, and that is never in the way.

A fault of the file costs what is in it, never the work at hand: what cannot be read is None, what cannot be written is
not kept, and what is damaged or another program's is moved aside.
"""

import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_log = logging.getLogger(__name__)
_BUSY_SECONDS = 60.0  # of 16 processes that wrote without pause on two busy cores, none waited more than 1 s


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/rtl-agent."""
    return Path(os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")).absolute() / "rtl-agent"


@dataclass(frozen=True)
class Form:
    """What a file holds: `what` for messages; `application` and `schema` are in its header, and tell it from others."""

    what: str
    application: int
    schema: int
    create: str  # its table
    look: str  # a query that fails where the table is another


class _Foreign(Exception):
    """The file is a database of something else, or damaged."""


class SqliteFile:
    """Reads and writes have a connection each: a reader never waits in WAL mode, not even for our own writer."""

    def __init__(self, path: Path | None, form: Form) -> None:
        self.path, self.form = path, form
        self._lock, self._write_lock = threading.Lock(), threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        if path is not None:
            self._open(path)

    def __enter__(self) -> Self:
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

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Nothing where the file cannot be read."""
        try:
            with self._lock:
                return [] if self._reader is None else self._reader.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._failed(error)
            return []

    def write(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """All of these rows or none: one transaction."""
        try:
            with self._write_lock:
                if self._writer is None or not rows:
                    return
                if len(rows) == 1:  # by itself it is a transaction
                    self._writer.execute(statement, rows[0])
                    return
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    self._writer.executemany(statement, rows)
                    self._writer.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        self._writer.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            self._failed(error)

    def _open(self, path: Path, *, thorough: bool = False) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(path):
                try:
                    self._writer = _connect(path, self.form, thorough=thorough)
                except (_Foreign, sqlite3.DatabaseError) as error:
                    # Locked, no room, not allowed: says nothing about what is in the file.
                    if isinstance(error, sqlite3.OperationalError):
                        raise
                    self._move_aside(path, error)
                    self._writer = _connect(path, self.form)
                self._reader = _connect(path, self.form)
        except (OSError, sqlite3.Error) as error:
            self.close()
            _log.warning("no %s at %s: %s", self.form.what, path, error)

    def _failed(self, error: sqlite3.Error) -> None:
        """A damaged file is replaced; whatever else it is, only this reading or writing is lost."""
        if isinstance(error, sqlite3.OperationalError) or self.path is None:
            _log.warning("the %s at %s: %s", self.form.what, self.path, error)
            return
        self.close()
        self._open(self.path, thorough=True)  # the damage may be deep inside, and another process quicker

    def _move_aside(self, path: Path, error: Exception) -> None:
        aside = path.with_name(f"{path.name}.aside-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        told = "%s is not a %s (%s): moved to %s, a new one is made"
        _log.warning(told, path, self.form.what, error, aside)
        for suffix in ("", "-wal", "-shm"):  # SQLite would replay another file's log into the new one
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))


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


def _connect(path: Path, form: Form, *, thorough: bool = False) -> sqlite3.Connection:
    """Autocommit, so that a statement alone is a transaction, and a row is there entirely or not at all."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (tables or application or schema) and (application, schema) != (form.application, form.schema):
            raise _Foreign(f"application {application}, schema {schema}")
        if thorough and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise _Foreign(found)
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL syncs at checkpoints only: a loss of power may take the last rows with it, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            connection.executescript(
                f"BEGIN IMMEDIATE; {form.create}; PRAGMA application_id = {form.application};"
                f"PRAGMA user_version = {form.schema}; COMMIT;"
            )
        connection.execute(form.look).fetchone()
    except BaseException:
        connection.close()
        raise
    return connection

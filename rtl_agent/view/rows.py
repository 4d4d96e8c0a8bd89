"""The rollouts of a run or an evaluation as a table: from indexes where they are good, else from the lines."""

import hashlib
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from rtl_agent.local_models import model_cache
from rtl_agent.runs.directory import ROLLOUTS, RolloutFile, rollout_files
from rtl_agent.runs.files import RunError, write_whole
from rtl_agent.runs.index import (
    FileIndex,
    encode,
    index_path,
    is_of,
    line_at,
    open_regular,
    placed,
    read_index,
    read_rows,
)
from rtl_agent.runs.packing import unpack
from rtl_agent.runs.rows import NUMBERS, STRINGS, LinePlace, RolloutRow, record_of, row_of

INTEGERS = ("step", "line", "tests", "tests_passed", "tokens", "turns", "group", "sample")  # that the page asks for
WORTH_KEEPING = 1 << 16  # bytes: reading less again takes a millisecond
KEPT_SECONDS = 60 * 24 * 3600  # an index that nobody used for so long is thrown away
NEVER = (0, -1, 0)  # the state of no file
Told = Callable[[int], None]


class NotThere(LookupError):
    """The page asked for what does not exist."""


@dataclass(frozen=True)
class Table:
    """All rows at one moment. A row's number is its place here, and in the page's addresses."""

    rows: tuple[RolloutRow, ...] = ()
    starts: tuple[int, ...] = ()  # the first row of each file
    files: tuple[Path, ...] = ()
    generation: int = 0
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # problem -> category, difficulty

    @cached_property
    def groups(self) -> list[list[int]]:
        """The rows that answer the same problem at the same step, in the order of their first."""
        found: dict[tuple[str, int, str], list[int]] = {}
        for number, row in enumerate(self.rows):
            found.setdefault((row.kind, row.step, row.problem), []).append(number)
        return list(found.values())

    @cached_property
    def group_numbers(self) -> list[int]:
        numbers = [0] * len(self.rows)
        for group, rows in enumerate(self.groups):
            for row in rows:
                numbers[row] = group
        return numbers

    @cached_property
    def by_problem(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, row in enumerate(self.rows):
            found.setdefault(row.problem, []).append(number)
        return found

    def file_of(self, row: int) -> Path:
        return self.files[bisect_right(self.starts, row) - 1]

    def label(self, row: RolloutRow) -> tuple[str, str]:
        """Category and difficulty: older runs did not keep them, and then they are the problem's."""
        category, difficulty = self.labels.get(row.problem, ("", ""))
        return row.category or category, row.difficulty or difficulty

    def columns(self) -> dict[str, Any]:
        """The whole table, column by column; texts by their number in `strings`."""
        numbers: dict[str, int] = {}
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.rows] for name in NUMBERS}
        columns |= {name: [getattr(row, name) for row in self.rows] for name in INTEGERS if name != "group"}
        columns["group"] = self.group_numbers
        labels = [self.label(row) for row in self.rows]
        given = {"category": [one for one, _ in labels], "difficulty": [one for _, one in labels]}
        for name in STRINGS:
            texts = given.get(name) or [getattr(row, name) for row in self.rows]
            columns[name] = [numbers.setdefault(text, len(numbers)) for text in texts]
        return {
            "count": len(self.rows),
            "generation": self.generation,
            "strings": list(numbers),
            "columns": columns,
        }


@dataclass(frozen=True)
class _Known:
    """What is known of one file, and of which state of it."""

    state: tuple[int, int, int]
    index: FileIndex
    from_index: bool  # read from an index that somebody wrote: it may lie
    fresh: bool = False  # not in a table yet


class Rows:
    """Those of one run directory, or of one evaluation's JSONL. Any thread may ask."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.labels: Mapping[str, tuple[str, str]] = {}
        self._known: dict[Path, _Known] = {}
        self._lies: set[Path] = set()
        self._table = Table()
        self._lock = RLock()

    def table(self, told: Told | None = None) -> Table:
        """As the files are now. `told` hears how many bytes were read where there was no index."""
        with self._lock:
            files = self._files()
            changed = [self._look_at(file, told) for file in files]
            gone = set(self._known) - {file.path for file in files}
            for path in gone:
                del self._known[path]
            if any(changed) or gone or self.labels is not self._table.labels:
                self._table = self._joined([file.path for file in files if file.path in self._known])
            return self._table

    def unread(self) -> int:
        """Bytes of lines that no index has; good indexes are read by the way."""
        with self._lock:
            return sum(self._look_for_index(file) for file in self._files())

    def record(self, table: Table, number: int, *, numbers: bool = True) -> dict[str, Any]:
        """The record itself, read from its place in the file; NotThere where it is gone."""
        if not 0 <= number < len(table.rows):
            raise NotThere(f"rollout {number}")
        row, path = table.rows[number], table.file_of(number)
        try:
            with open_regular(path) as file:
                line = line_at(file, row)
        except OSError:
            line = None
        data = None if line is None else record_of(line, numbers=numbers)
        if line is None or data is None or self._lied(path, row, line, data):
            with self._lock:
                self._lies.add(path)  # its lines are read at the next look
                self._known.pop(path, None)
        if data is None:
            raise NotThere(f"rollout {number}: its file has changed; look at the run again")
        return data

    def _lied(self, path: Path, row: RolloutRow, line: bytes, data: Mapping[str, Any]) -> bool:
        known = self._known.get(path)
        place = LinePlace.of(line, row.kind, row.step, row.line, row.offset)
        return known is not None and known.from_index and row_of(data, place) != row

    def _joined(self, paths: Sequence[Path]) -> Table:
        rows: list[RolloutRow] = []
        starts = []
        for path in paths:
            starts.append(len(rows))
            rows += self._known[path].index.rows
        return Table(tuple(rows), tuple(starts), tuple(paths), self._table.generation + 1, self.labels)

    def _files(self) -> list[RolloutFile]:
        if self.path.is_file():
            return [RolloutFile(self.path.resolve(), "eval", 0)]
        folder = self.path / ROLLOUTS
        inside = folder.resolve().parent == self.path.resolve()  # a link leads to files of somebody else
        return list(rollout_files(self.path)) if inside else []

    def _look_at(self, file: RolloutFile, told: Told | None) -> bool:
        """Reads what is new in a file, and says whether anything is."""
        known = self._known.get(file.path)
        try:
            if known is not None and known.state == _state(file.path.lstat()):
                return known.fresh and self._seen(file.path, known)
            with open_regular(file.path) as lines:
                state = _state(os.fstat(lines.fileno()))
                same = known is not None and is_of(known.index, lines)
                start = known.index if known is not None and same else self._found(file, lines)
                trusted = start is None or (known is not None and same and not known.from_index)
                index = start
                if start is None or start.end < state[1]:
                    index = read_rows(lines, file.kind, file.step, start, told)
                    self._keep(file.path, index, start)
        except OSError:  # removed by a resumed run, or not a file at all
            return self._known.pop(file.path, None) is not None
        assert index is not None
        self._known[file.path] = _Known(state, index, not trusted, fresh=False)
        return known is None or known.fresh or known.index.rows != index.rows

    def _seen(self, path: Path, known: _Known) -> bool:
        self._known[path] = replace(known, fresh=False)
        return True

    def _look_for_index(self, file: RolloutFile) -> int:
        known = self._known.get(file.path)
        try:
            with open_regular(file.path) as lines:
                status = os.fstat(lines.fileno())
                if known is None and (index := self._found(file, lines)) is not None:
                    state = _state(status) if index.end == status.st_size else NEVER
                    known = self._known[file.path] = _Known(state, index, from_index=True, fresh=True)
                return status.st_size - (known.index.end if known else 0)
        except OSError:
            return 0

    def _found(self, file: RolloutFile, lines: Any) -> FileIndex | None:
        """A good index of the file: the run's own, or one that was kept by an earlier look."""
        if file.path in self._lies:
            return None
        for place in (index_path(file.path), kept_index(file.path)):
            index = read_index(place)
            if index is not None and is_of(index, lines):
                with suppress(OSError):
                    os.utime(place)
                return placed(index, file.kind, file.step)
        return None

    def _keep(self, path: Path, index: FileIndex, before: FileIndex | None) -> None:
        """Beside the grades, not in the run: whoever looks at a run writes nothing into it."""
        if index.end - (before.end if before else 0) < WORTH_KEEPING:
            return
        with suppress(RunError, OSError):  # a full disk, a home that cannot be written to: read again next time
            place = kept_index(path)
            if not place.parent.is_dir() or not place.exists():
                throw_away_old(place.parent)
            write_whole(place, encode(index))


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def kept_index(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return model_cache().parent / "view" / f"{name}.index"


def throw_away_old(folder: Path) -> None:
    if not folder.is_dir():
        return
    for path in folder.glob("*.index"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                path.unlink()


def lines_of(table: Table) -> Iterator[tuple[int, bytes]]:
    """Every row's line, file by file, one at a time; what is gone meanwhile is left out."""
    for start, end, path in zip(table.starts, [*table.starts[1:], len(table.rows)], table.files, strict=True):
        try:
            with open_regular(path) as file:
                for number in range(start, end):
                    row = table.rows[number]
                    file.seek(row.offset)
                    yield number, unpack(file.read(row.length)) or b""
        except OSError:
            continue

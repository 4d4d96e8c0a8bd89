"""The index of a rollout file: its rows, so that a table of thousands opens without reading gigabytes.

    rollouts/step_000012.jsonl.gz   the rollouts, packed line by line (or .jsonl, as they are)
    rollouts/step_000012.index      their rows: a line that says what they are of, and a line of columns

The writer of a run makes one with each file. An index says which bytes it is of, so one that is older than its file,
torn, or made for another file is noticed and made anew; one that lies about a line is noticed when the line is read.
"""

import json
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from rtl_agent.runs import packing
from rtl_agent.runs.packing import MOST_LINE
from rtl_agent.runs.rows import (
    INTEGERS,
    LARGEST,
    NAME_LETTERS,
    NUMBERS,
    STRINGS,
    LinePlace,
    RolloutRow,
    record_of,
    row_of,
)

VERSION = 1
SUFFIX = ".index"
MARK_BYTES = 4096  # at the beginning and at the end of what an index is of
MOST_INDEX = 512 << 20


@dataclass(frozen=True)
class FileIndex:
    """The rows of the first `end` bytes of a file, `lines` whole lines. `mark` tells these bytes from others."""

    rows: tuple[RolloutRow, ...] = ()
    end: int = 0
    lines: int = 0
    mark: int = 0


def index_path(rollouts: Path) -> Path:
    return rollouts.with_name(rollouts.name.removesuffix(packing.SUFFIX)).with_suffix(SUFFIX)


def open_regular(path: Path) -> BinaryIO:
    """OSError for a link, which leads out of the run, and for a pipe, on which a reader would wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def index_of(records: Sequence[Any], lines: Sequence[bytes], kind: str, step: int) -> FileIndex:
    """Of records that are written as these lines, packed or not."""
    rows, offset = [], 0
    for number, (record, line) in enumerate(zip(records, lines, strict=True)):
        rows.append(row_of(record, LinePlace.of(line, kind, step, number, offset)))
        offset += len(line)
    whole = b"".join(lines)
    return FileIndex(tuple(rows), offset, len(lines), _mark(whole[:MARK_BYTES], whole[-MARK_BYTES:]))


def read_rows(
    file: BinaryIO, kind: str, step: int, known: FileIndex | None = None, told: Callable[[int], None] | None = None
) -> FileIndex:
    """The rows of a file's whole lines; those in `known` are not read again. `told` hears of each line's bytes."""
    known = known or FileIndex()
    rows, end, number = list(known.rows), known.end, known.lines
    file.seek(end)
    for line in stored_lines(file):
        length = line if isinstance(line, int) else len(line)
        data = None if isinstance(line, int) else record_of(line, numbers=False)
        if data is not None and not isinstance(line, int):
            rows.append(row_of(data, LinePlace.of(line, kind, step, number, end)))
        number, end = number + 1, end + length
        if told is not None:
            told(length)
    return FileIndex(tuple(rows), end, number, mark_of(file, end))


def stored_lines(file: BinaryIO) -> Iterator[bytes | int]:
    """Whole lines as the file has them, packed or not, from where it stands; of one that is too long its length only.

    What follows the last newline is still being written.
    """
    first = file.read(len(packing.MAGIC))
    file.seek(-len(first), os.SEEK_CUR)
    if packing.is_packed(first):
        yield from packing.members(file)
        return
    while line := file.readline(MOST_LINE):
        if line.endswith(b"\n"):
            yield line
            continue
        length = len(line)
        while (more := file.readline(1 << 20)) and not more.endswith(b"\n"):
            length += len(more)
        if not more:
            return
        yield length + len(more)


def mark_of(file: BinaryIO, end: int) -> int:
    """Of the bytes before `end`. A file that is appended to keeps it, one that is written anew has another."""
    file.seek(0)
    head = file.read(min(end, MARK_BYTES))
    file.seek(max(0, end - MARK_BYTES))
    return _mark(head, file.read(min(end, MARK_BYTES)))


def _mark(head: bytes, tail: bytes) -> int:
    return zlib.crc32(tail, zlib.crc32(head))


def is_of(index: FileIndex, file: BinaryIO) -> bool:
    """Whether a file still begins with the bytes that were indexed."""
    return os.fstat(file.fileno()).st_size >= index.end and mark_of(file, index.end) == index.mark


def encode(index: FileIndex) -> bytes:
    """Column by column, each text once; rows of one file have the same kind and step."""
    numbers: dict[str, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in (*STRINGS, *INTEGERS, *NUMBERS)}
    for row in index.rows:
        for name in STRINGS:
            columns[name].append(numbers.setdefault(getattr(row, name), len(numbers)))
        for name in (*INTEGERS, *NUMBERS):
            columns[name].append(getattr(row, name))
    body = json.dumps({"strings": list(numbers), "columns": columns}, separators=(",", ":"), allow_nan=False).encode()
    told = {"version": VERSION, "rows": len(index.rows), "end": index.end, "lines": index.lines, "mark": index.mark}
    return json.dumps({**told, "crc": zlib.crc32(body)}).encode() + b"\n" + body + b"\n"


def read_index(path: Path) -> FileIndex | None:
    """None for one that is missing, torn, of another version, or not what it should be."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MOST_INDEX:
                return None
            return _decode(file.read())
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _decode(data: bytes) -> FileIndex | None:
    first, _, rest = data.partition(b"\n")
    told, body = json.loads(first), rest.removesuffix(b"\n")
    if told["version"] != VERSION or told["crc"] != zlib.crc32(body):
        return None
    held = json.loads(body)
    strings, columns = held["strings"], held["columns"]
    count, end, lines, mark = (told[name] for name in ("rows", "end", "lines", "mark"))
    if not _are(int, (count, end, lines, mark)) or not 0 <= count <= lines <= end < LARGEST:
        return None
    if not all(type(text) is str and len(text) <= NAME_LETTERS for text in strings):
        return None
    if any(len(columns[name]) != count for name in (*STRINGS, *INTEGERS, *NUMBERS)):
        return None
    if any(columns[name] and not _are(int, columns[name]) for name in (*STRINGS, *INTEGERS)):
        return None
    if any(not _are_numbers(columns[name]) for name in NUMBERS):
        return None
    texts = [[strings[number] for number in columns[name]] for name in STRINGS]
    rest_of = [columns[name] for name in (*INTEGERS, *NUMBERS)]
    rows = tuple(RolloutRow(*values) for values in zip(*texts, *rest_of, strict=True))
    return FileIndex(rows, end, lines, mark) if _in_order(rows, end) else None


def _are(kind: type, values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {kind} and all(0 <= value < LARGEST for value in values)


def _are_numbers(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {int, float, type(None)} and all(
        value is None or abs(value) < LARGEST for value in values
    )


def _in_order(rows: Sequence[RolloutRow], end: int) -> bool:
    """Lines that follow each other, none of them longer than a line may be."""
    if any(not 0 < row.length <= MOST_LINE for row in rows):
        return False
    if any(one.offset + one.length > other.offset or one.line >= other.line for one, other in pairwise(rows)):
        return False
    return not rows or rows[-1].offset + rows[-1].length <= end


def placed(index: FileIndex, kind: str, step: int) -> FileIndex:
    """As of a file of this kind and step: an index says what is in a file, the file's name where it belongs."""
    if all(row.kind == kind and row.step == step for row in index.rows):
        return index
    return replace(index, rows=tuple(replace(row, kind=kind, step=step) for row in index.rows))


def line_at(file: BinaryIO, row: RolloutRow) -> bytes | None:
    """The line of a row as the file has it; None where something else is there by now."""
    file.seek(row.offset)
    line = file.read(row.length)
    return line if zlib.crc32(line) == row.crc and len(line) == row.length else None

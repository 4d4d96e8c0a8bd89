"""Words in the texts of rollouts: line by line, for a few seconds at most, and never under a lock."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rtl_agent.runs.rows import record_of, without_numbers
from rtl_agent.view.rows import Table, lines_of

MOST_FOUND = 2000
MOST_SECONDS = 10.0
MOST_LETTERS = 1000  # of what is searched for
LOOK_UP = 64  # lines, after which it is asked whether anybody still wants to know


@dataclass(frozen=True)
class Found:
    rows: list[int]
    truncated: bool  # there are more, or not every rollout was read
    searched: int  # rollouts that were read


def search(table: Table, words: str, wanted: Callable[[], bool] = lambda: True, seconds: float = MOST_SECONDS) -> Found:
    """The rollouts of which a text holds the words, whatever their case; names of fields and numbers do not count."""
    words = words[:MOST_LETTERS].lower()
    if not words:
        return Found([], truncated=False, searched=0)
    may_hold, until = _sieve(words), time.monotonic() + seconds
    rows: list[int] = []
    searched = 0
    for number, line in lines_of(table):
        if searched % LOOK_UP == 0 and (time.monotonic() > until or not wanted()):
            return Found(rows, truncated=True, searched=searched)
        searched += 1
        line = without_numbers(line)
        if may_hold(line) and _holds(line, words):
            if len(rows) == MOST_FOUND:
                return Found(rows, truncated=True, searched=searched)
            rows.append(number)
    return Found(rows, truncated=False, searched=searched)


def _sieve(words: str) -> Callable[[bytes], bool]:
    """Tells most lines without the words by their bytes: decoding a line takes a hundred times as long."""
    escaped = json.dumps(words)[1:-1].lower()
    if "\\u" not in escaped:
        whole = escaped.encode()
        return lambda line: whole in line.lower()
    # Letters outside ASCII are written as \u00e9 by us, perhaps as themselves by others, in capitals or not.
    pieces = re.split(r"(?:\\u[0-9a-f]{4})+", escaped)
    longest = max(pieces, key=len).encode()
    return lambda line: longest in line.lower()


def _holds(line: bytes, words: str) -> bool:
    record = record_of(line, numbers=False)
    return record is not None and any(words in text.lower() for text in _texts(record))


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    """Every text in a record; names only of files and tests, which somebody chose."""
    waiting: list[Any] = list(record.values())
    files = record.get("files")
    if isinstance(files, Mapping):
        yield from files
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list) and not (value and isinstance(value[0], int | float)):
            waiting += value

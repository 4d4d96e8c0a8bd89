"""The rollouts of a run or an evaluation as rows: what is filtered and coloured by, and where each line lies.

Rows are found by reading every line once, and kept in memory; a file that has grown is read from where it ended before.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtl_agent.runs.directory import rollout_files
from rtl_agent.runs.episode import RolloutRecord

REASON_LETTERS = 120
STRINGS = ("kind", "problem", "family", "category", "difficulty", "outcome", "reason", "end_reason")
INTEGERS = ("step", "line", "tests", "tests_passed", "tokens", "turns", "group", "sample")
NUMBERS = ("reward", "kl_mean", "kl_max")


@dataclass(frozen=True)
class Row:
    """One rollout. `offset` and `length` are of its line, in bytes."""

    file: Path
    offset: int
    length: int
    values: Mapping[str, Any]


@dataclass
class _Read:
    """What is known of one file."""

    identity: int  # inode: a file that was replaced is read anew
    end: int = 0
    lines: int = 0
    rows: list[Row] = field(default_factory=list)


class Rows:
    """Those of one run directory, or of one evaluation's JSONL. `refresh` looks for new ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[Path, _Read] = {}
        self.rows: list[Row] = []
        self.generation = 0

    def refresh(self) -> None:
        files = [(file.path, file.kind, file.step) for file in rollout_files(self.path)]
        if self.path.is_file():
            files = [(self.path, "eval", 0)]
        changed = [self._read(*file) for file in files]
        gone = set(self._files) - {path for path, _, _ in files}
        for path in gone:
            del self._files[path]
        if any(changed) or gone:
            self.rows = [row for path, _, _ in files if path in self._files for row in self._files[path].rows]
            self.generation += 1

    def _read(self, path: Path, kind: str, step: int) -> bool:
        try:
            status = path.stat()
            known = self._files.get(path)
            if known is None or known.identity != status.st_ino or known.end > status.st_size:
                known = self._files[path] = _Read(status.st_ino)
            if known.end == status.st_size:
                return False
            with path.open("rb") as lines:
                lines.seek(known.end)
                for line in lines:
                    if not line.endswith(b"\n"):  # being written just now
                        break
                    data = line_data(line)
                    if data is not None and "settings" not in data:
                        values = {**_values(data, kind, step), "line": known.lines}
                        known.rows.append(Row(path, known.end, len(line), values))
                    known.lines += 1
                    known.end += len(line)
        except OSError:  # removed by a resumed run; the next look finds what is there then
            self._files.pop(path, None)
        return True

    def columns(self) -> dict[str, Any]:
        """The whole table, column by column; strings by their number in `strings`."""
        numbers: dict[str, int] = {}
        groups: dict[tuple[str, int, str], int] = {}
        columns: dict[str, list[Any]] = {name: [] for name in (*STRINGS, *INTEGERS, *NUMBERS)}
        for row in self.rows:
            values = row.values
            key = (values["kind"], values["step"], values["problem"])
            group = groups.setdefault(key, len(groups))
            for name in STRINGS:
                columns[name].append(numbers.setdefault(values[name], len(numbers)))
            for name in (*INTEGERS, *NUMBERS):
                columns[name].append(group if name == "group" else values[name])
        return {
            "count": len(self.rows),
            "generation": self.generation,
            "strings": list(numbers),
            "columns": columns,
        }

    def group_of(self, row: int) -> list[int]:
        """The rows that answer the same problem at the same step, this one among them."""
        mine = _group(self.rows[row])
        return [number for number, other in enumerate(self.rows) if _group(other) == mine]

    def group(self, number: int) -> list[int]:
        """The rows of the group with this number, as `columns` counts them."""
        groups: dict[tuple[str, int, str], list[int]] = {}
        for index, row in enumerate(self.rows):
            groups.setdefault(_group(row), []).append(index)
        found = list(groups.values())
        return found[number] if 0 <= number < len(found) else []

    def line(self, row: int) -> dict[str, Any]:
        """The record itself, read from its place in the file."""
        found = self.rows[row]
        with found.file.open("rb") as file:
            file.seek(found.offset)
            return line_data(file.read(found.length)) or {}

    def search(self, text: str, most: int = 2000) -> tuple[list[int], bool]:
        """The rows whose record holds a text, whatever its case, and whether there are more."""
        wanted = json.dumps(text, ensure_ascii=False)[1:-1].lower()
        found = [number for number, raw in self._raw() if wanted in raw.decode(errors="replace").lower()]
        return found[:most], len(found) > most

    def _raw(self) -> Iterator[tuple[int, bytes]]:
        for number, row in enumerate(self.rows):
            with row.file.open("rb") as file:
                file.seek(row.offset)
                yield number, file.read(row.length)


def line_data(line: bytes) -> dict[str, Any] | None:
    """A line's record, an evaluation's sample as the episode that it holds; None for what is not one."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    episode = data.get("episode")
    return {**episode, "rollout": data.get("index")} if isinstance(episode, dict) else data


def _group(row: Row) -> tuple[str, int, str]:
    return row.values["kind"], row.values["step"], row.values["problem"]


def _values(data: Mapping[str, Any], kind: str, step: int) -> dict[str, Any]:
    record = RolloutRecord.from_json(data)
    grade, sample, kl = record.grade, data.get("rollout"), data.get("reverse_kl")
    known = [one for one in kl if isinstance(one, int | float)] if isinstance(kl, list) else []
    tests = grade.tests if grade else ()
    sampled = data.get("sampled_tokens")
    turns = data.get("turns")
    reasons = grade.reasons if grade else ()
    return {
        "kind": kind,
        "problem": record.episode.problem_id,
        "family": record.episode.family,
        "category": "",
        "difficulty": "",
        "outcome": "lost" if record.lost else str(record.outcome or ""),
        "reason": (record.lost or (reasons[0] if reasons else ""))[:REASON_LETTERS],
        "end_reason": record.episode.end_reason,
        "step": step,
        "tests": len(tests),
        "tests_passed": sum(test.passed is True for test in tests),
        "tokens": len(sampled) if isinstance(sampled, list) else 0,
        "turns": len(turns) if isinstance(turns, list) else 0,
        "sample": sample if isinstance(sample, int) else 0,
        "reward": record.reward,
        "kl_mean": sum(known) / len(known) if known else None,
        "kl_max": max(known, default=None),
    }

"""What the page asks for, as JSON: the list of runs, one run, its table, one rollout, one group, a search."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from rtl_agent.problems import Problem
from rtl_agent.runs import RunError, list_runs
from rtl_agent.runs.episode import Episode
from rtl_agent.view import rollout
from rtl_agent.view.problems import Shelf, sources_of_evaluation, sources_of_run
from rtl_agent.view.rollout import Context
from rtl_agent.view.rows import NotThere, Rows, Table, Told
from rtl_agent.view.search import search
from rtl_agent.view.summaries import Summaries, evaluation_settings
from rtl_agent.view.texts import MOST_LETTERS, Room
from rtl_agent.view.tokens import Decoder, Pieces
from rtl_agent.view.waves import Asked

__all__ = ["MOST_LETTERS", "Decoder", "Library", "NotThere"]

MOST_ROWS = 500_000  # kept in memory, of all runs
QUICK_BYTES = 32 << 20  # without an index: half a second
SECONDS_FOR_A_PROBLEM = 3.0  # that a rollout waits for its problem to be loaded
SECONDS_FOR_A_SIMULATION = 120.0  # that waves wait for it
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass
class Library:
    """All runs and evaluations below some folders. Any thread may ask."""

    roots: Sequence[Path]
    decode: Decoder | None = None
    _rows: dict[Path, Rows] = field(default_factory=dict)
    _counts: dict[Path, int] = field(default_factory=dict)
    _counted_at: dict[Path, object] = field(default_factory=dict)  # when it was written last
    _shelf: Shelf = field(default_factory=Shelf)
    _summaries: Summaries = field(default_factory=Summaries)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._pieces = Pieces(self.decode or (lambda model, tokens: None))

    def answer(self, path: str, query: Mapping[str, str], wanted: Callable[[], bool] = lambda: True) -> dict[str, Any]:
        """The answer to `runs/ID/...`; `NotThere` for any other path. `wanted`: whether anybody still waits for it."""
        match path.strip("/").split("/"):
            case ["runs"]:
                return self.runs()
            case ["runs", name]:
                return self.run(self._place(name))
            case ["runs", name, "index"]:
                return self.opened(name).table.columns()
            case ["runs", name, "rollouts", number] if _is_number(number):
                return self.rollout(self.opened(name), int(number))
            case ["runs", name, "groups", number] if _is_number(number):
                return rollout.group(self.opened(name), int(number))
            case ["runs", name, "search"]:
                found = search(self._table(self._place(name)), query.get("q", ""), wanted)
                return {"rows": found.rows, "truncated": found.truncated, "searched": found.searched}
        raise NotThere(path)

    def answer_file(self, path: str) -> tuple[str, str] | None:
        """For `runs/ID/rollouts/N/answer`: a file's name and its text; None for any other path."""
        match path.strip("/").split("/"):
            case ["runs", name, "rollouts", number, "answer"] if _is_number(number):
                of = self.opened(name)
                record = of.rows.record(of.table, int(number), numbers=False)
                suffix, text = Episode.from_json(record).answer_file
                return f"{name}-{int(number)}{suffix}", text
        return None

    def places(self) -> dict[str, Path]:
        """Run directories and evaluations' JSONL files by an id that is safe in an address."""
        found: dict[str, Path] = {}
        for root in self.roots:
            if root.is_file():
                paths = [root]
            elif not root.is_dir():
                continue
            else:
                paths = [
                    *list_runs(root),
                    *(file for file in sorted(root.glob("*.jsonl")) if evaluation_settings(file)),
                ]
            for path in paths:
                name = _UNSAFE.sub("-", path.name).strip(".") or "run"
                if name in found and found[name] != path:
                    name += "-" + hashlib.sha256(str(path).encode(errors="replace")).hexdigest()[:8]
                found[name] = path
        return found

    def unread(self) -> int:
        """Bytes of rollouts that have no index yet."""
        return sum(self._rows_of(path).unread() for path in self.places().values())

    def count(self) -> int:
        """Rollouts, of what has been looked at."""
        return sum(self._counts.values())

    def index_all(self, told: Told) -> None:
        """Before anybody asks: what was written without an index is read once."""
        for place in self.places().items():
            self._table(place, told)

    def runs(self) -> dict[str, Any]:
        summaries, left_out = [], []
        for name, path in self.places().items():
            try:
                line = self._summaries.line(name, path)
            except (RunError, OSError) as error:
                left_out.append(str(error))
                continue
            summaries.append({**line, **self._counted(path, line)})
        return {"root": ", ".join(map(str, self.roots)), "runs": summaries, "left_out": Room().bounded(left_out)}

    def run(self, place: tuple[str, Path]) -> dict[str, Any]:
        told, table = self._summaries.of(*place), self._table(place)
        return {**told.line, **told.more(), **self._counted(place[1], told.line), "generation": table.generation}

    def opened(self, name: str) -> Context:
        """A run as it is now, whatever is written to it from here on."""
        place = self._place(name)
        told = self._summaries.of(*place)
        sources = sources_of_evaluation(told.config) if place[1].is_file() else sources_of_run(told.config)
        table = self._table(place, sources=sources)
        return Context(place[1], self._rows_of(place[1]), table, told.student, told.config, sources)

    def rollout(self, of: Context, number: int, seconds: float = SECONDS_FOR_A_PROBLEM) -> dict[str, Any]:
        """`seconds`: how long its problem may take to load; without it there is no reference."""
        if number >= len(of.table.rows):
            raise NotThere(f"rollout {number}")
        found = self._shelf.find(of.sources, of.table.rows[number].problem, seconds)
        return rollout.rollout(replace(of, found=found), number, self._pieces)

    def asked(self, name: str, number: int) -> Asked:
        """A rollout for whoever simulates it again."""
        of = self.opened(name)
        record = of.rows.record(of.table, number, numbers=False)
        return Asked(Episode.from_json(record), of.sources)

    def problem(self, sources: Sequence[str], problem_id: str) -> Problem | None:
        """Of a run that is looked at, for whoever can wait."""
        found = self._shelf.find(sources, problem_id, SECONDS_FOR_A_SIMULATION)
        return found[1] if found else None

    def _place(self, name: str) -> tuple[str, Path]:
        path = self.places().get(name)
        if path is None:
            raise NotThere(f"run {name}")
        return name, path

    def _rows_of(self, path: Path) -> Rows:
        with self._lock:
            rows = self._rows.pop(path, None) or Rows(path)
            self._rows[path] = rows  # the last one asked for is the last to be forgotten
            while len(self._rows) > 1 and sum(self._counts.get(one, 0) for one in self._rows) > MOST_ROWS:
                del self._rows[next(iter(self._rows))]
            return rows

    def _table(self, place: tuple[str, Path], told: Told | None = None, sources: Sequence[str] = ()) -> Table:
        rows = self._rows_of(place[1])
        table = rows.table(told)
        self._counts[place[1]] = len(table.rows)
        if sources and not rows.labels and any(not row.category for row in table.rows[:1]):
            # Runs of before did not keep categories; their problems have them, once these are loaded.
            found = [known for source in sources if (known := self._shelf.get(source)) is not None]
            if len(found) == len(sources):
                problems = [one for known in found for one in known.values()]
                rows.labels = {one.id: (one.category, one.difficulty) for one in problems}
                table = rows.table()
        return table

    def _is_quick(self, path: Path) -> bool:
        """Whether what is new in it can be read while somebody waits for the list."""
        return self._rows_of(path).unread() <= QUICK_BYTES

    def _counted(self, path: Path, line: Mapping[str, Any]) -> dict[str, Any]:
        """Rollouts, if they are quickly counted; of an evaluation also how many passed: it has no curves."""
        written = line["written"]
        if self._counted_at.get(path) != written and self._is_quick(path):
            self._counts[path] = len(self._rows_of(path).table().rows)
            self._counted_at[path] = written
        count = self._counts.get(path)
        if path.is_dir() or count is None:
            return {"rollouts": count}
        graded = [row for row in self._rows_of(path).table().rows if row.outcome not in ("error", "lost")]
        rewards = [row.reward for row in graded if row.reward is not None]
        passed = sum(row.outcome == "passed" for row in graded)
        headline = {
            "pass_rate": passed / len(graded) if graded else None,
            "reward": sum(rewards) / len(rewards) if rewards else None,
            "teacher_kl": None,
        }
        return {"rollouts": count, "headline": headline}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16


def as_json(value: object) -> bytes:
    """For the page, and for scripts of a bundle: ASCII, and no character that could end a script or begin markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").encode()

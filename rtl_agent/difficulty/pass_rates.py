"""Every problem's pass rate by model, in one SQLite file beside the cache of grades, written by training and `eval`.

A row is what one step of a run, or one evaluation, found of one problem. Written again (a step that a killed run does
anew, an evaluation that is resumed) it replaces itself, so nothing is counted twice.
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.sqlite_file import Form, SqliteFile, cache_folder

_FORM = Form(
    what="record of pass rates",
    application=0x52544C44,  # "RTLD"
    schema=1,
    create=(
        "CREATE TABLE tries (problem TEXT, model TEXT, origin TEXT, steps INTEGER NOT NULL, solved INTEGER NOT NULL, "
        "failed INTEGER NOT NULL, made REAL NOT NULL, PRIMARY KEY (problem, model, origin)) WITHOUT ROWID"
    ),
    look="SELECT problem, model, origin, steps, solved, failed, made FROM tries LIMIT 1",
)
_AT_A_TIME = 500  # SQLite takes at most 999 values in one query of older builds


def default_pass_rates_path() -> Path:
    """$XDG_CACHE_HOME/rtl-agent/pass_rates.sqlite."""
    return cache_folder() / "pass_rates.sqlite"


@dataclass(frozen=True)
class Tries:
    """How often a problem was solved and failed. `last` is a time in seconds since 1970; 0: never."""

    solved: int = 0
    failed: int = 0
    last: float = 0.0

    @property
    def tried(self) -> int:
        return self.solved + self.failed

    @property
    def rate(self) -> float | None:
        return self.solved / self.tried if self.tried else None


NEVER = Tries()


@dataclass(frozen=True)
class TriesOf:
    """What was found of one problem, by its digest: `problem_digest`."""

    problem: str
    solved: int
    failed: int


class PassRates(SqliteFile):
    """Tries by problem and model. Several threads and processes can use the same file.

    Args:
        path: the file, made where it is missing; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, _FORM)

    def record(self, model: str, origin: str, steps: int, found: Iterable[TriesOf]) -> None:
        """What a model did in one step or evaluation; `origin` names that, and `steps` how long it was trained then."""
        short = hashlib.sha256(origin.encode(errors="replace")).hexdigest()[:24]
        now = time.time()
        rows = [(one.problem, model, short, steps, one.solved, one.failed, now) for one in found]
        self.write("INSERT OR REPLACE INTO tries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def tries(
        self, problems: Sequence[str] | None = None, *, model: str = "", untrained: bool = False
    ) -> dict[str, Tries]:
        """By problem; of one model or of all. `untrained` leaves out what a model did after a step of training."""
        wanted = "SELECT problem, sum(solved), sum(failed), max(made) FROM tries WHERE 1"
        values: list[Any] = []
        if model:
            wanted, values = f"{wanted} AND model = ?", [model]
        if untrained:
            wanted += " AND steps = 0"
        rows: list[tuple[Any, ...]] = []
        if problems is None:
            rows = self.rows(f"{wanted} GROUP BY problem", values)
        else:
            for at in range(0, len(problems), _AT_A_TIME):
                some = problems[at : at + _AT_A_TIME]
                among = f"{wanted} AND problem IN ({','.join('?' * len(some))}) GROUP BY problem"
                rows += self.rows(among, [*values, *some])
        return {str(name): Tries(int(solved), int(failed), float(last)) for name, solved, failed, last in rows}

    def models(self) -> list[str]:
        """Every model that was tried on anything."""
        return [str(name) for (name,) in self.rows("SELECT DISTINCT model FROM tries ORDER BY model")]

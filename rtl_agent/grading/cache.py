"""Grades by content in one SQLite file, which many processes share and no kill -9 can break."""

import json
import logging
import time
import zlib
from dataclasses import replace
from pathlib import Path

from rtl_agent.grading.grade import Grade, Outcome, Reward
from rtl_agent.sqlite_file import Form, SqliteFile, cache_folder

_log = logging.getLogger(__name__)
_FORM = Form(
    what="cache of grades",
    application=0x52544C47,  # "RTLG"
    schema=1,
    create="CREATE TABLE grades (key TEXT PRIMARY KEY, made REAL NOT NULL, grade BLOB NOT NULL) WITHOUT ROWID",
    look="SELECT key, made, grade FROM grades LIMIT 1",
)
_NO_REWARD = Reward({}, 0.0, 0.0)


def default_cache_path() -> Path:
    """$XDG_CACHE_HOME/rtl-agent/grades.sqlite."""
    return cache_folder() / "grades.sqlite"


class GradeCache(SqliteFile):
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
        super().__init__(path, _FORM)

    def get(self, key: str) -> Grade | None:
        """The grade, without a reward; None when there is none, or none that can be read."""
        for (packed,) in self.rows("SELECT grade FROM grades WHERE key = ?", (key,)):
            try:
                return replace(_unpack(packed), cached=True)
            except (zlib.error, ValueError, TypeError, KeyError) as error:
                _log.warning("a cached grade cannot be read and is made again: %s", error)
        return None

    def put(self, key: str, grade: Grade) -> None:
        """Keep a grade for all to find. `error` is our own fault of the moment and is not kept."""
        if grade.outcome is not Outcome.ERROR:
            self.write("INSERT OR REPLACE INTO grades VALUES (?, ?, ?)", [(key, time.time(), _pack(grade))])


def _pack(grade: Grade) -> bytes:
    """2 to 7 kB of JSON become 0.7 to 0.9 kB."""
    return zlib.compress(json.dumps(replace(grade, reward=_NO_REWARD, cached=False).to_json()).encode("ascii"), 1)


def _unpack(packed: bytes) -> Grade:
    return Grade.from_json(json.loads(zlib.decompress(packed)))

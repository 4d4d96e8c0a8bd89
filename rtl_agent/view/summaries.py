"""A run or an evaluation in one line of the list, and what its own screen says beside the rollouts."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from rtl_agent.runs import read_run
from rtl_agent.runs.directory import CHECKPOINTS, CONFIG, METRICS, STARTS, is_locked
from rtl_agent.runs.files import read_small_json
from rtl_agent.runs.index import open_regular
from rtl_agent.view.texts import Room

EXAM, CRITERIA = "exam.json", "criteria.json"
HEADLINES = {
    "pass_rate": ("test/env/all/pass_rate", "test/env/all/tests_passed", "env/all/pass_rate", "env/all/tests_passed"),
    "reward": ("test/env/all/reward/total", "env/all/reward/total"),
    "teacher_kl": ("teacher_kl",),
}
MOST_SETTINGS = 1 << 20  # bytes of the first line of an evaluation
KEPT = 8  # whole summaries: one with its curves can have tens of megabytes


@dataclass(frozen=True)
class Summary:
    """`line` is of the list; the rest of the run's own screen."""

    path: Path
    line: Mapping[str, Any]
    config: Mapping[str, Any]
    series: Mapping[str, Any]
    command: str | None = None
    resumed_by: str | None = None

    @property
    def student(self) -> str:
        return str(self.line["student"] or "")

    def more(self) -> dict[str, Any]:
        exam = read_small_json(self.path / EXAM) if self.path.is_dir() else None
        criteria = read_small_json(self.path / CRITERIA) if self.path.is_dir() else None
        more: dict[str, Any] = Room().bounded(
            {
                "config": self.config,
                "command": self.command,
                "resumed_by": self.resumed_by,
                "exam": exam if isinstance(exam, dict) and exam else None,
                "criteria": criteria if isinstance(criteria, list) and criteria else None,
            }
        )
        return {**more, "series": self.series}


class Summaries:
    """Made anew when one of a run's files has changed: the page asks every two seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[tuple[str, Path], tuple[object, Summary]] = {}
        self._lines: dict[tuple[str, Path], tuple[object, Mapping[str, Any]]] = {}  # of every run, or each is read anew

    def of(self, name: str, path: Path) -> Summary:
        """RunError or OSError where there is nothing that can be read."""
        return self._of(name, path, _state_of(path))

    def line(self, name: str, path: Path) -> Mapping[str, Any]:
        """Of the list; raises as `of` does."""
        state = _state_of(path)
        with self._lock:
            known = self._lines.get((name, path))
        return known[1] if known is not None and known[0] == state else self._of(name, path, state).line

    def _of(self, name: str, path: Path, state: object) -> Summary:
        with self._lock:
            known = self._known.pop((name, path), None)
            if known is not None and known[0] == state:
                self._known[name, path] = known  # the last one asked for is the last to be forgotten
                return known[1]
        summary = _of_run(name, path) if path.is_dir() else _of_evaluation(name, path)
        with self._lock:
            self._known[name, path] = state, summary
            self._lines[name, path] = state, summary.line
            while len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
        return summary


def _of_run(name: str, path: Path) -> Summary:
    run = read_run(path)
    series: dict[str, Any] = {metric: run.series(metric) for metric in run.metric_names()}
    seed = run.option("seed")
    unseeded = {key: value for key, value in sorted(run.config.items()) if key not in ("seed", "log_path", "run")}
    metrics = path / METRICS
    line = {
        "id": name,
        "name": path.name,
        "path": str(path),
        "kind": "run",
        "student": run.student or "",
        "teacher": run.teacher,
        "mode": _text(run.option("mode")),
        "steps": run.steps,
        "running": run.is_running,
        "written": metrics.stat().st_mtime if metrics.exists() else None,
        "seed": seed if isinstance(seed, int) else None,
        "group": hashlib.sha256(json.dumps(unseeded, default=str).encode()).hexdigest()[:12],
        "headline": {
            key: next((series[metric][-1][1] for metric in names if series.get(metric)), None)
            for key, names in HEADLINES.items()
        },
    }
    return Summary(path, Room().bounded(line), run.config, series, run.command, run.resumed_by)


def _of_evaluation(name: str, path: Path) -> Summary:
    settings = evaluation_settings(path)
    seed = settings.get("seed")
    line = {
        "id": name,
        "name": path.name,
        "path": str(path),
        "kind": "eval",
        "student": _text(settings.get("model")),
        "teacher": None,
        "mode": None,
        "steps": 0,
        "running": False,
        "written": path.stat().st_mtime,
        "seed": seed if type(seed) is int else None,
        "group": name,
        "headline": dict.fromkeys(HEADLINES),
    }
    return Summary(path, Room().bounded(line), settings, {})


def evaluation_settings(path: Path) -> dict[str, Any]:
    """The first line of an evaluation's file; empty for any other file."""
    try:
        with open_regular(path.resolve()) as file:
            first = json.loads(file.readline(MOST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return {}
    settings = first.get("settings") if isinstance(first, dict) else None
    return settings if isinstance(settings, dict) else {}


def _state_of(path: Path) -> object:
    """Another one when a file that a summary is made of has changed, or when a run has begun or ended."""
    files = tuple(_state(path / file) for file in ("", CONFIG, METRICS, STARTS, CHECKPOINTS))
    return files, path.is_dir() and is_locked(path)


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

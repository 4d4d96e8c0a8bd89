"""What the page asks for, as JSON: the list of runs, one run, its table, one rollout, one group, a search."""

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtl_agent.runs import RunError, list_runs, read_run
from rtl_agent.runs.episode import Episode
from rtl_agent.view.rows import Rows
from rtl_agent.view.waves import Asked

Decoder = Callable[[str, Sequence[int]], list[str] | None]
"""A model's name and token ids -> the text of each; None where its tokenizer is not at hand."""

MOST_LETTERS = 2_000_000  # of one text; a browser shows no more of it at a time
HEADLINES = {
    "pass_rate": ("test/env/all/tests_passed", "env/all/tests_passed"),
    "reward": ("test/env/all/reward/total", "env/all/reward/total"),
    "teacher_kl": ("teacher_kl",),
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class NotThere(LookupError):
    """The page asked for what does not exist."""


@dataclass
class Library:
    """All runs and evaluations below some folders."""

    roots: Sequence[Path]
    decode: Decoder | None = None
    _rows: dict[Path, Rows] = field(default_factory=dict)

    def answer(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """The answer to `runs/ID/...`; `NotThere` for any other path."""
        match path.strip("/").split("/"):
            case ["runs"]:
                return self.runs()
            case ["runs", name]:
                return self.run(self._place(name))
            case ["runs", name, "index"]:
                return self._table(self._place(name)).columns()
            case ["runs", name, "rollouts", number] if number.isdecimal():
                return self.rollout(self._place(name), int(number))
            case ["runs", name, "groups", number] if number.isdecimal():
                return self.group(self._place(name), int(number))
            case ["runs", name, "search"]:
                rows, truncated = self._table(self._place(name)).search(query.get("q", "")[:1000])
                return {"rows": rows, "truncated": truncated}
        raise NotThere(path)

    def places(self) -> dict[str, Path]:
        """Run directories and evaluations' JSONL files by an id that is safe in an address."""
        found: dict[str, Path] = {}
        for root in self.roots:
            if root.is_file():
                paths = [root]
            elif not root.is_dir():
                continue
            else:
                paths = [*list_runs(root), *(file for file in sorted(root.glob("*.jsonl")) if _is_evaluation(file))]
            for path in paths:
                name = _UNSAFE.sub("-", path.name).strip(".") or "run"
                if name in found and found[name] != path:
                    name += "-" + hashlib.sha256(str(path).encode()).hexdigest()[:8]
                found[name] = path
        return found

    def runs(self) -> dict[str, Any]:
        summaries = []
        for name, path in self.places().items():
            try:
                summaries.append(self._summary(name, path)[0])
            except (RunError, OSError):  # removed meanwhile
                continue
        return {"root": ", ".join(map(str, self.roots)), "runs": summaries}

    def run(self, place: tuple[str, Path]) -> dict[str, Any]:
        summary, config, series, commands = self._summary(*place)
        table = self._table(place)
        return {
            **summary,
            "rollouts": len(table.rows),
            "config": config,
            "command": commands[0],
            "resumed_by": commands[1],
            "series": series,
            "exam": None,
            "criteria": None,
            "generation": table.generation,
        }

    def rollout(self, place: tuple[str, Path], number: int) -> dict[str, Any]:
        table = self._table(place)
        if number >= len(table.rows):
            raise NotThere(f"rollout {number}")
        data, row = table.line(number), table.rows[number]
        episode = Episode.from_json(data)
        asked = next((message.content for message in reversed(episode.messages) if message.role == "user"), "")
        same = [index for index, other in enumerate(table.rows) if other.values["problem"] == episode.problem_id]
        tests = [index for index in same if table.rows[index].values["kind"] == "eval"]
        teachers = [index for index in same if table.rows[index].values["kind"] == "teacher"]
        return {
            "row": number,
            **{name: row.values[name] for name in ("kind", "step", "family", "end_reason")},
            "problem_id": episode.problem_id,
            "level": episode.level,
            "stop_reason": episode.stop_reason,
            "lost": _cut(str(data.get("lost") or "")),
            "messages": [{"role": one.role, "content": _cut(one.content)} for one in episode.messages],
            "text": _cut(episode.text),
            "files": _files(episode),
            "grade": episode.grade.to_json() if episode.grade else None,
            "interface": [
                note
                for stage in (episode.grade.stages if episode.grade else ())
                if stage.name == "interface"
                for note in stage.notes
            ],
            "reward": row.values["reward"],
            "reward_parts": dict(episode.reward_parts),
            "turns": [_turn(turn) for turn in episode.to_json()["turns"]],
            "tokens": self._tokens(place, episode, data),
            "specification": _cut(asked),
            "reference": None,
            "before": self._version(table, tests[:1]),
            "after": self._version(table, tests[1:][-1:]),
            "teacher": self._version(table, teachers[:1]),
            "commands": _commands(place[1], row.values["kind"], episode.problem_id),
            "siblings": table.group_of(number),
        }

    def asked(self, name: str, number: int) -> Asked:
        """A rollout for whoever simulates it again."""
        place = self._place(name)
        table = self._table(place)
        if number >= len(table.rows):
            raise NotThere(f"rollout {number}")
        config = self._summary(*place)[1]
        return Asked(Episode.from_json(table.line(number)), config if isinstance(config, Mapping) else {})

    def group(self, place: tuple[str, Path], number: int) -> dict[str, Any]:
        table = self._table(place)
        rows = table.group(number)
        if not rows:
            raise NotThere(f"group {number}")
        episodes = [Episode.from_json(table.line(row)) for row in rows]
        results = [{test.name: test.passed for test in (one.grade.tests if one.grade else ())} for one in episodes]
        names = list(dict.fromkeys(name for one in results for name in one))
        return {
            "group": number,
            "rows": rows,
            "tests": names,
            "results": [[one.get(name) for name in names] for one in results],
            "files": [_files(one) for one in episodes],
            "outcomes": [table.rows[row].values["outcome"] for row in rows],
            "rewards": [table.rows[row].values["reward"] for row in rows],
        }

    def _place(self, name: str) -> tuple[str, Path]:
        path = self.places().get(name)
        if path is None:
            raise NotThere(f"run {name}")
        return name, path

    def _table(self, place: tuple[str, Path]) -> Rows:
        table = self._rows.setdefault(place[1], Rows(place[1]))
        table.refresh()
        return table

    def _summary(self, name: str, path: Path) -> tuple[dict[str, Any], Any, dict[str, Any], tuple[Any, Any]]:
        """The line of the list; then config, curves and commands."""
        if path.is_file():
            settings = _settings(path)
            summary = {
                **dict.fromkeys(("teacher", "mode", "seed", "rollouts")),
                **{"id": name, "name": path.name, "path": str(path), "kind": "eval", "steps": 0, "running": False},
                **{"student": _text(settings.get("model")), "written": path.stat().st_mtime, "group": name},
                "headline": dict.fromkeys(HEADLINES),
            }
            return summary, settings, {}, (None, None)
        run = read_run(path)
        series: dict[str, Any] = {metric: run.series(metric) for metric in run.metric_names()}
        seed = run.option("seed")
        unseeded = {key: value for key, value in sorted(run.config.items()) if key not in ("seed", "log_path", "run")}
        summary = {
            "id": name,
            "name": path.name,
            "path": str(path),
            "kind": "run",
            "student": run.student or "",
            "teacher": run.teacher,
            "mode": _text(run.option("mode")),
            "steps": run.steps,
            "running": run.is_running,
            "written": (path / "metrics.jsonl").stat().st_mtime if (path / "metrics.jsonl").exists() else None,
            "seed": seed if isinstance(seed, int) else None,
            "group": hashlib.sha256(json.dumps(unseeded, default=str).encode()).hexdigest()[:12],
            "rollouts": None,
            "headline": {
                key: next((series[metric][-1][1] for metric in metrics if series.get(metric)), None)
                for key, metrics in HEADLINES.items()
            },
        }
        return summary, run.config, series, (run.command, run.resumed_by)

    def _tokens(self, place: tuple[str, Path], episode: Episode, data: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.decode is None or not episode.sampled_tokens:
            return None
        student = _text(self._summary(*place)[0]["student"])
        pieces = self.decode(student, episode.sampled_tokens)
        if pieces is None:
            return None
        lists = {"logprob": data.get("sampled_logprobs"), "teacher": data.get("teacher_logprobs")}
        known = {
            name: value if isinstance(value, list) and len(value) == len(pieces) else None
            for name, value in {**lists, "kl": data.get("reverse_kl")}.items()
        }
        turns = [number for number, turn in enumerate(episode.turns) for _ in turn.sampled_tokens]
        return {
            "text": pieces,
            "turn": turns if len(turns) == len(pieces) else None,
            **known,
            **dict.fromkeys(("entropy", "advantage", "top")),
        }

    @staticmethod
    def _version(table: Rows, rows: Sequence[int]) -> dict[str, Any] | None:
        if not rows:
            return None
        values = table.rows[rows[0]].values
        files = _files(Episode.from_json(table.line(rows[0])))
        return {"row": rows[0], "step": values["step"], "files": files, "outcome": values["outcome"]}


def _commands(path: Path, kind: str, problem: str) -> list[dict[str, str]]:
    if path.is_file():
        return []
    words = shlex.join(["rtl-agent", "runs", "show", str(path)])
    return [{"about": f"the run that this {kind} rollout of {problem} belongs to", "command": words}]


def _files(episode: Episode) -> dict[str, str]:
    """What was graded: an agent's files, or the answer as it was written."""
    return {name: _cut(text) for name, text in (episode.files or {"answer": episode.text}).items()}


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("text", "thinking", "calls", "fault", "observation", "reward")
    return {name: _cut(turn[name]) if isinstance(turn[name], str) else turn[name] for name in kept}


def _cut(text: str) -> str:
    left = len(text) - MOST_LETTERS
    return text if left <= 0 else f"{text[:MOST_LETTERS]}\n[{left:,} more characters are not shown]"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _settings(path: Path) -> dict[str, Any]:
    """The first line of an evaluation's file; empty for any other file."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(1 << 20))
    except (OSError, ValueError, RecursionError):
        return {}
    settings = first.get("settings") if isinstance(first, dict) else None
    return settings if isinstance(settings, dict) else {}


def _is_evaluation(path: Path) -> bool:
    return bool(_settings(path))

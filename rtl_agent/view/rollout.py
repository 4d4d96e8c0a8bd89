"""One rollout, and one group of them, as the page shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rtl_agent.grading import TestResult
from rtl_agent.problems import Problem
from rtl_agent.runs.episode import Episode, EpisodeTurn
from rtl_agent.runs.files import RunError, read_lines
from rtl_agent.runs.rows import LOST, RolloutRow
from rtl_agent.view.commands import commands
from rtl_agent.view.rows import NotThere, Rows, Table
from rtl_agent.view.texts import MOST_ITEMS, Room
from rtl_agent.view.tokens import Pieces, derived_advantage, recorded_advantage, tokens_of

MOST_IN_GROUP = 256
MOST_HELD_OUT = 256 << 20  # bytes


@dataclass(frozen=True)
class Context:
    """What is known beside a rollout: where it is, who wrote it, and where its problem was found."""

    place: Path
    rows: Rows
    table: Table
    student: str
    config: Mapping[str, Any]  # of the run, or the settings of an evaluation
    sources: Sequence[str] = ()  # of its problems
    found: tuple[str, Problem] | None = None  # a source and the problem


def rollout(of: Context, number: int, pieces: Pieces) -> dict[str, Any]:
    table = of.table
    data = of.rows.record(table, number)
    row, episode, room = table.rows[number], Episode.from_json(data), Room()
    siblings = table.groups[table.group_numbers[number]]
    asked = next((message.content for message in reversed(episode.messages) if message.role == "user"), "")
    grade = episode.grade
    category, difficulty = table.label(row)
    if of.found is not None:
        category, difficulty = category or of.found[1].category, difficulty or of.found[1].difficulty
    shown = {
        "row": number,
        "kind": row.kind,
        "step": row.step,
        "problem_id": episode.problem_id,
        "family": row.family,
        "category": category,
        "difficulty": difficulty,
        "level": episode.level,
        "stop_reason": episode.stop_reason,
        "end_reason": row.end_reason,
        "lost": row.reason if row.outcome == LOST else "",
        "messages": [{"role": one.role, "content": one.content} for one in episode.messages],
        "text": episode.text,
        "files": files_of(episode),
        "grade": None if grade is None else asdict(grade),
        "interface": [] if grade is None else [n for one in grade.stages if one.name == "interface" for n in one.notes],
        "reward": row.reward,
        "reward_parts": dict(episode.reward_parts),
        "turns": [_turn(turn) for turn in episode.turns[:MOST_ITEMS]],
        "specification": asked,
        "reference": _reference(of, episode.problem_id),
        **_versions(of, row),
        "commands": commands(of.place, table.file_of(number), row, episode, of.found and of.found[0], of.config),
        "answer": bool(episode.text or episode.files),
        "siblings": siblings,
    }
    advantage = _advantage(of, row, siblings, data, len(episode.sampled_tokens))
    return {**room.bounded(shown), "tokens": tokens_of(pieces, of.student, episode, data, advantage)}


def group(of: Context, number: int) -> dict[str, Any]:
    if not 0 <= number < len(of.table.groups):
        raise NotThere(f"group {number}")
    rows = of.table.groups[number][:MOST_IN_GROUP]
    episodes = [Episode.from_json(of.rows.record(of.table, row, numbers=False)) for row in rows]
    results = [_verdicts(one.grade.tests if one.grade else ()) for one in episodes]
    names = list(dict.fromkeys(name for one in results for name in one))[:MOST_ITEMS]
    shown = {
        "group": number,
        "rows": rows,
        "tests": names,
        "results": [[one.get(name) for name in names] for one in results],
        "files": [files_of(one) for one in episodes],
        "outcomes": [of.table.rows[row].outcome for row in rows],
        "rewards": [of.table.rows[row].reward for row in rows],
    }
    bounded: dict[str, Any] = Room().bounded(shown)
    return bounded


def _verdicts(tests: Sequence[TestResult]) -> dict[str, bool | None]:
    """By name. A test that ran with several parameters has passed if it did with all of them."""
    found: dict[str, bool | None] = {}
    for test in tests:
        before = found.get(test.name, True)
        found[test.name] = False if False in (before, test.passed) else None if None in (before, test.passed) else True
    return found


def files_of(episode: Episode) -> dict[str, str]:
    """What was graded: an agent's files, or the answer as it was written."""
    return dict(episode.files) or {"answer": episode.text}


def _turn(turn: EpisodeTurn) -> dict[str, Any]:
    kept = ("text", "thinking", "calls", "fault", "observation", "reward")
    return {name: getattr(turn, name) for name in kept}


def _reference(of: Context, problem_id: str) -> dict[str, str] | None:
    """The problem's own; else what the run kept of it beside its evaluations."""
    if of.found is not None:
        return dict(of.found[1].reference) if of.found[1].reference else None
    if of.place.is_file():
        return None
    try:
        kept = of.place / "held_out.jsonl"
        lines = read_lines(kept) if kept.is_file() and kept.stat().st_size < MOST_HELD_OUT else iter(())
        asked = next((line for line in lines if line.get("problem_id") == problem_id), {})
    except (RunError, OSError):
        return None
    files = asked.get("reference")
    known = {path: text for path, text in files.items() if isinstance(text, str)} if isinstance(files, Mapping) else {}
    return known or None


def _versions(of: Context, row: RolloutRow) -> dict[str, Any]:
    """The same problem early and late, in evaluations or else in training, and as the teacher answered it."""
    table = of.table
    same = [(number, table.rows[number]) for number in table.by_problem[row.problem]]
    before = after = None
    for kind in ("eval", "step"):
        steps = sorted({one.step for _, one in same if one.kind == kind})
        if steps and (kind == "eval" or len(steps) > 1):
            first = {step: next(n for n, one in same if (one.kind, one.step) == (kind, step)) for step in steps}
            before = first[steps[0]]
            after = first[steps[-1]] if len(steps) > 1 else None
            break
    teacher = next((number for number, one in same if one.kind == "teacher"), None)
    found = {"before": before, "after": after, "teacher": teacher} if of.place.is_dir() else {}
    return {name: _version(of, found.get(name)) for name in ("before", "after", "teacher")}


def _version(of: Context, number: int | None) -> dict[str, Any] | None:
    if number is None:
        return None
    try:
        episode = Episode.from_json(of.rows.record(of.table, number, numbers=False))
    except NotThere:
        return None
    row = of.table.rows[number]
    return {"row": number, "step": row.step, "files": files_of(episode), "outcome": row.outcome}


def _advantage(
    of: Context, row: RolloutRow, siblings: Sequence[int], data: Mapping[str, Any], count: int
) -> list[float | None] | None:
    if row.kind != "step":
        return None
    others = (of.table.rows[number] for number in siblings)
    rewards = [one.reward for one in others if one.reward is not None and one.outcome != LOST]
    recorded = recorded_advantage(data, count)
    return recorded if recorded is not None else derived_advantage(data, rewards, of.config, count)

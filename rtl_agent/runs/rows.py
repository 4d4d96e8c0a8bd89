"""A rollout as one row: what tables of thousands are filtered, sorted and coloured by, and where its line lies.

Rows are made when a run writes its rollouts, and again from the lines where nobody did. Lines may come from anywhere:
whatever a field holds, a row has the types that it says, and texts of a bounded length.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rtl_agent.grading import Outcome
from rtl_agent.runs.packing import unpack

_fast_loads: Callable[[bytes], Any] = json.loads
with suppress(ImportError):  # comes with tinker: a third of json's time on lines that are mostly numbers
    import orjson

    _fast_loads = orjson.loads

REASON_LETTERS, NAME_LETTERS = 120, 1000
LARGEST = 2**53  # what a browser's numbers hold exactly
OUTCOMES = {outcome.value for outcome in Outcome}
LOST = "lost"
NO_PROBLEM = "(no problem named)"


@dataclass(frozen=True, slots=True)
class RolloutRow:
    """One rollout. `offset`, `length` and `crc` are of its line, newline included, in bytes."""

    kind: str
    problem: str
    family: str
    category: str
    difficulty: str
    outcome: str  # "lost" where there is none, by no fault of the model
    reason: str
    end_reason: str
    step: int
    line: int  # from 0
    tests: int
    tests_passed: int
    tokens: int
    turns: int
    sample: int
    offset: int
    length: int
    crc: int
    reward: float | None
    kl_mean: float | None
    kl_max: float | None


STRINGS = ("kind", "problem", "family", "category", "difficulty", "outcome", "reason", "end_reason")
INTEGERS = ("step", "line", "tests", "tests_passed", "tokens", "turns", "sample", "offset", "length", "crc")
NUMBERS = ("reward", "kl_mean", "kl_max")


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Where a line is: in which kind of file, of which step, and in it."""

    kind: str
    step: int
    line: int
    offset: int
    length: int
    crc: int

    @staticmethod
    def of(raw: bytes, kind: str, step: int, line: int, offset: int) -> "LinePlace":
        return LinePlace(kind, step, line, offset, len(raw), zlib.crc32(raw))


def row_of(data: Mapping[str, Any], place: LinePlace) -> RolloutRow:
    """From a record as it is written, or as it was read, with or without its numbers."""
    grade = _mapping(data.get("grade"))
    outcome = _text(grade.get("outcome"))
    graded = outcome in OUTCOMES
    tests = [test for test in _list(grade.get("tests")) if isinstance(test, Mapping) and test] if graded else []
    reasons = _list(grade.get("reasons")) if graded else []
    lost = (_text(data["lost"]) or LOST) if data.get("lost") else ""
    kl = _numbers(data.get("reverse_kl"))
    return RolloutRow(
        kind=place.kind,
        problem=(_text(data.get("problem_id")) or _text(grade.get("problem_id")) or NO_PROBLEM)[:NAME_LETTERS],
        family=_text(data.get("family"))[:NAME_LETTERS],
        category=_text(data.get("category"))[:NAME_LETTERS],
        difficulty=_text(data.get("difficulty"))[:NAME_LETTERS],
        outcome=LOST if lost else outcome if graded else "",
        reason=(lost or _text(reasons[0] if reasons else ""))[:REASON_LETTERS],
        end_reason=_text(data.get("end_reason"))[:NAME_LETTERS],
        step=place.step,
        line=place.line,
        tests=len(tests),
        tests_passed=sum(test.get("passed") is True for test in tests),
        tokens=_count(data.get("sampled_tokens")),
        turns=_count(data.get("turns")),
        sample=_count(data.get("rollout")),
        offset=place.offset,
        length=place.length,
        crc=place.crc,
        reward=_reward(data, grade),
        kl_mean=_rounded(sum(kl) / len(kl)) if kl else None,
        kl_max=_rounded(max(kl)) if kl else None,
    )


def record_of(line: bytes, *, numbers: bool = True) -> dict[str, Any] | None:
    """A line's record, packed or not, an evaluation's sample as the episode that it holds; None for what is not one.

    Without `numbers`, long lists of them are replaced by their lengths, and the line is read in a third of the time.
    """
    plain = unpack(line)
    if plain is None:
        return None
    try:
        data = _loads(plain, json.loads) if numbers else _loads(without_numbers(plain), _fast_loads)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "settings" in data:  # the first line of an evaluation
        return None
    episode = data.get("episode")
    return {**episode, "rollout": data.get("index")} if isinstance(episode, dict) else data


_COUNTED = ("prompt_tokens", "sampled_tokens")
_PER_TOKEN = ("sampled_logprobs", "teacher_logprobs", "reverse_kl", "advantages", "teacher_chunks", "teacher_top",
              "entropy", "observation_tokens")  # fmt: skip


def without_tokens(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record without what it has of every single token; how many tokens there were stays."""
    kept = {name: value for name, value in record.items() if name not in _PER_TOKEN}
    kept |= {name: len(kept[name]) for name in _COUNTED if isinstance(kept.get(name), list | tuple)}
    if "turns" in kept:
        kept["turns"] = [without_tokens(turn) if isinstance(turn, Mapping) else turn for turn in _list(kept["turns"])]
    return kept


def _loads(line: bytes, loads: Callable[[bytes], Any]) -> Any:
    try:
        return loads(line)
    except ValueError:
        if loads is json.loads:
            raise
        return json.loads(line)  # orjson takes neither NaN nor half a character


_LISTS = re.compile(
    rb'"(?:prompt_tokens|sampled_tokens|sampled_logprobs|teacher_logprobs|observation_tokens|advantages|teacher_chunks|'
    rb'entropy)": ?\['
)
_IN_LISTS = b"0123456789+-.eE, nul"


def without_numbers(line: bytes) -> bytes:
    """In a JSON string every quotation mark has a backslash before it, so these can only be names of fields."""
    parts, done = [], 0
    while found := _LISTS.search(line, done):
        end = line.find(b"]", found.end())
        listed = line[found.end() : end]
        if end < 0 or listed.translate(None, _IN_LISTS):  # not a list of numbers
            return line
        parts.append(line[done : found.end() - 1])
        parts.append(b"%d" % (listed.count(b",") + 1 if listed else 0))
        done = end + 1
    return b"".join([*parts, line[done:]])


def _reward(data: Mapping[str, Any], grade: Mapping[str, Any]) -> float | None:
    reward = data.get("reward", grade.get("reward"))
    reward = reward.get("total") if isinstance(reward, Mapping) else reward
    return float(reward) if reward is not None and _is_number(reward) else None


def _rounded(value: float) -> float:
    """Six digits: the rest of them is half of an index."""
    return float(f"{value:.6g}")


def _numbers(values: Any) -> list[float]:
    """The numbers in a list; thousands of floats are looked at one by one only where one of them is none."""
    listed = values if isinstance(values, list) else _list(values)
    if set(map(type, listed)) == {float} and abs(sum(listed)) < LARGEST and min(listed) > -LARGEST:
        return listed
    return [one for one in listed if _is_number(one)]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < LARGEST  # neither infinite nor NaN


def _integer(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST else 0


def _count(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else max(0, _integer(value))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []

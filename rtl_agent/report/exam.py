"""A run's exam and its criteria of success, read from files that anybody may have written: what is odd is left out."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.report.words import cut

EXAM, CRITERIA = "exam.json", "criteria.json"
WHO = {"before": "student before", "after": "student after", "teacher": "teacher"}
SETS = {"test": "trained families, unseen instances", "new": "families never trained on"}
_MOST_BYTES = 4 << 20
_MOST_SETS, _MOST_FAMILIES, _MOST_CRITERIA, _MOST_LETTERS = 8, 200, 50, 300


@dataclass(frozen=True)
class Answered:
    """One set of problems, answered by one; None where it was not measured."""

    problems: int | None
    greedy: float | None  # pass rates
    sampled: float | None
    reward: float | None  # of greedy answers
    families: Mapping[str, float]  # pass rates of greedy answers


Exam = Mapping[str, Mapping[str, Answered]]  # set -> who -> rates, both in the order of `SETS` and `WHO`


@dataclass(frozen=True)
class Checked:
    """A criterion of success, and what was found."""

    name: str
    wanted: str
    found: str
    met: bool


def read_exam(run: Path) -> Exam:
    """Empty where there was none."""
    people = _mapping(_json(run / EXAM))
    asked = dict.fromkeys(str(name) for who in WHO for name in _mapping(people.get(who)))
    names = sorted(asked, key=lambda name: [*SETS, name].index(name))[:_MOST_SETS]
    exam: dict[str, dict[str, Answered]] = {}
    for name in names:
        for who in WHO:
            answered = _answered(_mapping(_mapping(people.get(who)).get(name)))
            if answered is not None:
                exam.setdefault(name, {})[who] = answered
    return exam


def read_criteria(run: Path) -> list[Checked]:
    """Empty where nobody checked them."""
    listed = _json(run / CRITERIA)
    lines = [_mapping(line) for line in listed[:_MOST_CRITERIA]] if isinstance(listed, list) else []
    return [
        Checked(_words(line["name"]), _words(line.get("wanted")), _words(line.get("found")), line.get("met") is True)
        for line in lines
        if isinstance(line.get("name"), str)
    ]


def _answered(ways: Mapping[str, Any]) -> Answered | None:
    greedy, sampled = _mapping(ways.get("greedy")), _mapping(ways.get("sampled"))
    rates = _mapping(greedy.get("rates"))
    problems = greedy.get("problems", sampled.get("problems"))
    families = {_words(name): _rate(share) for name, share in _mapping(greedy.get("families")).items()}
    known = [(name, share) for name, share in families.items() if share is not None]
    answered = Answered(
        problems=problems if type(problems) is int and 0 <= problems < 10**9 else None,
        greedy=_rate(rates.get("pass_rate")),
        sampled=_rate(_mapping(sampled.get("rates")).get("pass_rate")),
        reward=_number(rates.get("reward/total")),
        families=dict(known[:_MOST_FAMILIES]),
    )
    measured = (answered.greedy, answered.sampled, answered.reward)
    return None if all(value is None for value in measured) and not answered.families else answered


def _json(path: Path) -> Any:
    """None for a file that is missing, broken, or too long to be one of ours."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e9 and math.isfinite(value) else None


def _rate(value: Any) -> float | None:
    number = _number(value)
    return number if number is not None and 0 <= number <= 1 else None


def _words(value: Any) -> str:
    return cut(value, _MOST_LETTERS) if isinstance(value, str) else ""

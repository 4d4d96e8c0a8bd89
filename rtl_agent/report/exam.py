"""A run's exam and its criteria of success: read from files that anybody may have written, and shown as tables.

What is missing, broken or out of range in these files is left out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.report.markup import Markup, counted, cut, join, number, percent, table, tag
from rtl_agent.runs.files import read_small_json

EXAM, CRITERIA = "exam.json", "criteria.json"
WHO = {"before": "student before", "after": "student after", "teacher": "teacher"}
SETS = {"test": "trained families, unseen instances", "new": "families never trained on"}
_MOST_SETS, _MOST_FAMILIES, _MOST_CRITERIA, _MOST_LETTERS = 8, 200, 50, 300


@dataclass(frozen=True)
class ExamRates:
    """One set of problems, answered by one; None where it was not measured."""

    problems: int | None
    greedy: float | None  # pass rates
    sampled: float | None
    reward: float | None  # of greedy answers
    families: Mapping[str, float]  # pass rates of greedy answers


Exam = Mapping[str, Mapping[str, ExamRates]]  # set -> who -> rates, both in the order of `SETS` and `WHO`


@dataclass(frozen=True)
class CheckedCriterion:
    """A criterion of success, and what was found."""

    name: str
    wanted: str
    found: str
    met: bool


def read_exam(run: Path) -> Exam:
    """Empty where there was none."""
    people = _mapping(read_small_json(run / EXAM))
    asked = dict.fromkeys(str(name) for who in WHO for name in _mapping(people.get(who)))
    names = sorted(asked, key=lambda name: [*SETS, name].index(name))[:_MOST_SETS]
    exam: dict[str, dict[str, ExamRates]] = {}
    for name in names:
        for who in WHO:
            answered = _answered(_mapping(_mapping(people.get(who)).get(name)))
            if answered is not None:
                exam.setdefault(name, {})[who] = answered
    return exam


def read_criteria(run: Path) -> list[CheckedCriterion]:
    """Empty where nobody checked them."""
    listed = read_small_json(run / CRITERIA)
    lines = [_mapping(line) for line in listed[:_MOST_CRITERIA]] if isinstance(listed, list) else []
    return [
        CheckedCriterion(
            _words(line["name"]), _words(line.get("wanted")), _words(line.get("found")), line.get("met") is True
        )
        for line in lines
        if isinstance(line.get("name"), str)
    ]


def _answered(ways: Mapping[str, Any]) -> ExamRates | None:
    greedy, sampled = _mapping(ways.get("greedy")), _mapping(ways.get("sampled"))
    rates = _mapping(greedy.get("rates"))
    problems = greedy.get("problems", sampled.get("problems"))
    families = {_words(name): _rate(share) for name, share in _mapping(greedy.get("families")).items()}
    known = [(name, share) for name, share in families.items() if share is not None]
    answered = ExamRates(
        problems=problems if type(problems) is int and 0 <= problems < 10**9 else None,
        greedy=_rate(rates.get("pass_rate")),
        sampled=_rate(_mapping(sampled.get("rates")).get("pass_rate")),
        reward=_number(rates.get("reward/total")),
        families=dict(known[:_MOST_FAMILIES]),
    )
    measured = (answered.greedy, answered.sampled, answered.reward)
    return None if all(value is None for value in measured) and not answered.families else answered


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


_ABOUT = (
    "Problems that are used for nothing else: neither for training nor for evaluations during the run. "
    "One greedy answer to each decides; at temperature 1 the pass rate tells how much probability right answers have."
)


def exam_view(exam: Exam) -> Markup | None:
    """None where there was no exam."""
    if not exam:
        return None
    heads = ("problems", "model", "pass rate, greedy", "pass rate, temperature 1", "reward, greedy")
    rows = [
        (
            _asked(name, models) if at == 0 else "",
            WHO[who],
            percent(rates.greedy),
            percent(rates.sampled),
            number(rates.reward),
        )
        for name, models in exam.items()
        for at, (who, rates) in enumerate(models.items())
    ]
    families = [_families(name, models) for name, models in exam.items()]
    return join(
        tag("h2", "Exam"), tag("p", _ABOUT, class_="soft"), table(heads, rows, names=2, class_="cards"), *families
    )


def criteria_view(criteria: Sequence[CheckedCriterion]) -> Markup | None:
    if not criteria:
        return None
    rows = [
        (
            one.name,
            one.wanted,
            one.found,
            tag("span", "met" if one.met else "not met", class_="good" if one.met else "bad"),
        )
        for one in criteria
    ]
    return join(
        tag("h2", "Criteria of success"),
        table(("criterion", "target", "result", "met?"), rows, names=4, class_="cards"),
    )


def _asked(name: str, models: Mapping[str, ExamRates]) -> str:
    problems = next((rates.problems for rates in models.values() if rates.problems is not None), None)
    described = SETS.get(name, name)
    return described if problems is None else f"{counted(problems, 'problem')} of {described}"


def _families(name: str, models: Mapping[str, ExamRates]) -> Markup | None:
    """Greedy pass rates, one line for each family."""
    families = sorted({family for rates in models.values() for family in rates.families})
    if not families:
        return None
    heads = ("family", *(WHO[who] for who in models))
    rows = [(family, *(_bar(rates.families.get(family)) for rates in models.values())) for family in families]
    return join(tag("h3", f"Greedy pass rate by family: {SETS.get(name, name)}"), table(heads, rows, class_="shares"))


def _bar(share: float | None) -> Markup:
    if share is None:
        return tag("span", "–")
    end = f"{100 * share:.1f}"
    filled = tag("polygon", points=f"0,0 {end},0 {end},8 0,8")
    bar = tag("svg", filled, viewBox="0 0 100 8", preserveAspectRatio="none", class_="bar")
    return join(tag("span", percent(share)), bar)

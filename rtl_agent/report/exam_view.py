"""The exam and the criteria of success as tables."""

from collections.abc import Mapping, Sequence

from rtl_agent.report.exam import SETS, WHO, Answered, Checked, Exam
from rtl_agent.report.markup import Markup, join, tag
from rtl_agent.report.words import counted

_ABOUT = (
    "Problems that are used for nothing else: neither trained on, nor asked in an evaluation on the way. One greedy "
    "answer to each decides; temperature 1 tells how much of the likelihood is right."
)


def exam_view(exam: Exam, criteria: Sequence[Checked]) -> Markup | None:
    """None where there was no exam, and nothing was checked."""
    parts: list[Markup | None] = []
    if exam:
        parts += [tag("h2", "Exam"), tag("p", _ABOUT, class_="soft"), _rates(exam)]
        parts += [_families(name, people) for name, people in exam.items()]
    if criteria:
        parts += [tag("h2", "Criteria of success"), _criteria(criteria)]
    return join(*parts) if parts else None


def _rates(exam: Exam) -> Markup:
    heads = ("pass rate, greedy", "pass rate, temperature 1", "reward, greedy")
    head = tag("tr", tag("th", "problems"), tag("th", "who"), *(tag("th", name, class_="number") for name in heads))
    rows = []
    for name, people in exam.items():
        for at, (who, answered) in enumerate(people.items()):
            cells = (_percent(answered.greedy), _percent(answered.sampled), _reward(answered.reward))
            asked = _asked(name, people) if at == 0 else ""
            rows.append(
                tag("tr", tag("td", asked), tag("td", WHO[who]), *(tag("td", cell, class_="number") for cell in cells))
            )
    return _table(head, rows)


def _asked(name: str, people: Mapping[str, Answered]) -> str:
    problems = next((answered.problems for answered in people.values() if answered.problems is not None), None)
    described = SETS.get(name, name)
    return described if problems is None else f"{counted(problems, 'problem')} of {described}"


def _families(name: str, people: Mapping[str, Answered]) -> Markup | None:
    """Greedy pass rates, one line for each family."""
    families = sorted({family for answered in people.values() for family in answered.families})
    if not families:
        return None
    head = tag("tr", tag("th", f"greedy pass rate, {SETS.get(name, name)}"), *(tag("th", WHO[who]) for who in people))
    rows = [
        tag(
            "tr",
            tag("td", family, class_="name"),
            *(tag("td", _bar(answered.families.get(family)), class_="share") for answered in people.values()),
        )
        for family in families
    ]
    return _table(head, rows)


def _bar(share: float | None) -> Markup:
    if share is None:
        return tag("span", "–")
    end = f"{100 * share:.1f}"
    filled = tag("polygon", points=f"0,0 {end},0 {end},8 0,8")
    return join(tag("span", _percent(share)), tag("svg", filled, viewBox="0 0 100 8", preserveAspectRatio="none"))


def _criteria(criteria: Sequence[Checked]) -> Markup:
    head = tag("tr", *(tag("th", name) for name in ("criterion", "wanted", "found", "")))
    rows = [
        tag(
            "tr",
            *(tag("td", words) for words in (one.name, one.wanted, one.found)),
            tag("td", "met" if one.met else "not met", class_="good" if one.met else "bad"),
        )
        for one in criteria
    ]
    return _table(head, rows)


def _table(head: Markup, rows: Sequence[Markup]) -> Markup:
    return tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll spaced")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _reward(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"

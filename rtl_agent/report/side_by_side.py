"""One problem, four answers: the student before and after, its teacher, the reference, in columns."""

import re
from collections.abc import Sequence

from rtl_agent.report.before_after import Compared
from rtl_agent.report.episode import Shown
from rtl_agent.report.line_marks import MarkedLine, MarkedText, marked, unmarked
from rtl_agent.report.markup import Markup, join, tag
from rtl_agent.report.words import counted, cut

_MOST_REASONS, _MOST_DIFFERENCES, _MOST_LETTERS = 4, 12, 400
_FENCED = re.compile(r"```[^\n`]*\n([^`]*?)\n?```")


def before_and_after(cases: Sequence[Compared]) -> Markup | None:
    if not cases:
        return None
    steps = sorted({episode.step for case in cases for episode in (case.before, case.after)})
    told = (
        f"{counted(len(cases), 'held-out problem')} with the student's answers at its first and last evaluation (steps "
        f"{steps[0]} and {steps[-1]}). Coloured lines differ from the reference, their marked words most; another "
        "way to write the same design is no fault."
    )
    return join(
        tag("h2", "Before, after, teacher, reference"),
        tag("p", told, class_="soft"),
        *(_case(case) for case in cases),
    )


def _case(case: Compared) -> Markup:
    columns = [
        _answer("Student before", case.before, case.reference, f"step {case.before.step}"),
        _answer("Student after", case.after, case.reference, f"step {case.after.step}"),
    ]
    if case.teacher is not None:
        columns.append(_answer("Teacher", case.teacher, case.reference))
    if case.reference is not None:
        told = tag("p", "in no prompt", class_="soft")
        code = _code(unmarked(cut(case.reference)))
        columns.append(tag("section", tag("h4", "Reference"), told, tag("div"), code, tag("div")))
    return tag(
        "article",
        tag("h3", case.problem_id, tag("span", f" {_story(case)}", class_="soft")),
        tag("pre", cut(case.specification), class_="asked") if case.specification else None,
        tag("div", *columns, class_=f"beside of{len(columns)}"),
        class_="wide",
    )


def _story(case: Compared) -> str:
    if case.learned:
        told = "failed before, passes now"
    elif case.unlearned:
        told = "passed before, fails now"
    else:
        told = "still fails" if case.still_failing else "passed before and passes now"
    return f"{told}; of a family that is never trained on" if case.is_new else told


def _answer(title: str, episode: Shown, reference: str | None, when: str = "") -> Markup:
    """Five parts in every column, so that the code of all begins at one height."""
    outcome = tag("span", episode.outcome or "not graded", class_="good" if episode.passed else "bad")
    reward = "no reward" if episode.reward is None else f"reward {episode.reward:.3g}"
    right_ports = episode.differences == () and not episode.interface and not episode.passed
    code = marked(_design(episode.answer), reference)
    return tag(
        "section",
        tag("h4", title, tag("span", f" {when}", class_="soft") if when else None),
        tag("p", outcome, f", {reward}", ", interface as specified" if right_ports else None),
        _faults(episode),
        _code(code),
        tag("p", _distance(code) if code.compared else "", class_="soft"),
    )


def _faults(episode: Shown) -> Markup:
    """A wrong interface is why nothing else worked: compared with the reference's, else in the grader's words.

    Without one, what the tests said.
    """
    interface = episode.differences or episode.interface
    faults, most = (interface, _MOST_DIFFERENCES) if interface else (episode.reasons, _MOST_REASONS)
    if not faults or (episode.passed and not interface):
        return tag("div")
    rows = [tag("li", cut(fault, _MOST_LETTERS)) for fault in faults[:most]]
    if len(faults) > most:
        rows.append(tag("li", f"and {len(faults) - most} more"))
    return tag("ul", *rows, class_="faults")


def _design(answer: str) -> str:
    """The code alone where there is nothing else."""
    fenced = _FENCED.fullmatch(answer.strip())
    return cut(fenced[1] if fenced else answer)


def _code(code: MarkedText) -> Markup:
    return tag("pre", *(_line(line) for line in code.lines)) if code.lines else tag("pre", "(empty)")


def _line(line: MarkedLine) -> Markup:
    whole = len(line.pieces) == 1
    words = [tag("mark", piece.text) if piece.differs and not whole else piece.text for piece in line.pieces]
    return tag("span", *words, "\n", class_="row differs" if line.differs else "row")


def _distance(code: MarkedText) -> str:
    if not code.differing and not code.missing:
        return "as the reference"
    lacks = f"; {counted(code.missing, 'line')} of the reference missing" if code.missing else ""
    return f"{counted(code.differing, 'line')} other than the reference{lacks}"

"""A problem's answers side by side: student before and after, its teacher, the reference, with what differs marked.

Marks compare text, not behaviour; spaces do not count.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rtl_agent.report.before_after import ComparedProblem, ShownAnswer
from rtl_agent.report.episodes import outcome
from rtl_agent.report.markup import Markup, counted, cut, join, tag

_MOST_REASONS, _MOST_DIFFERENCES, _MOST_REASON_LETTERS = 4, 12, 400
# Matching takes time by the square of the lines in the worst case, and nobody reads marks in more than these.
_MOST_LINES, _MOST_LETTERS = 400, 200
_ALIKE = 0.4  # less, and a line is another one, not the same with other words
_WORD = re.compile(r"\d*'\w+|\w+|\s+|[-+*/<>=!&|^~]+|.", re.ASCII)


@dataclass(frozen=True)
class Piece:
    text: str
    differs: bool


@dataclass(frozen=True)
class MarkedLine:
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def differs(self) -> bool:
        return any(piece.differs for piece in self.pieces)


@dataclass(frozen=True)
class MarkedText:
    """`missing` counts lines of the reference that nothing stands for; `compared` is False without a reference."""

    lines: tuple[MarkedLine, ...]
    missing: int = 0
    compared: bool = True

    @property
    def differing(self) -> int:
        return sum(line.differs for line in self.lines)


def unmarked(text: str) -> MarkedText:
    return MarkedText(tuple(_line(line, differs=False) for line in text.splitlines()), compared=False)


def marked(text: str, reference: str | None) -> MarkedText:
    lines, wanted = text.splitlines(), (reference or "").splitlines()
    if reference is None or max(len(lines), len(wanted)) > _MOST_LINES:
        return unmarked(text)
    found: list[MarkedLine] = []
    missing = 0
    matcher = SequenceMatcher(None, [_plain(line) for line in lines], [_plain(line) for line in wanted], autojunk=False)
    for kind, start, end, other, other_end in matcher.get_opcodes():
        if kind == "equal":
            found += [_line(line, differs=False) for line in lines[start:end]]
        else:
            found += _against(lines[start:end], wanted[other:other_end])
            missing += sum(bool(line.strip()) for line in wanted[other + end - start : other_end])
    return MarkedText(tuple(found), missing)


def _against(lines: Sequence[str], wanted: Sequence[str]) -> list[MarkedLine]:
    """Line by line, as far as there are lines to compare with."""
    pairs = zip(lines, wanted, strict=False)
    found = [_words(line, meant) for line, meant in pairs]
    return found + [_line(line, differs=True) for line in lines[len(wanted) :]]


def _words(line: str, wanted: str) -> MarkedLine:
    if max(len(line), len(wanted)) > _MOST_LETTERS:
        return _line(line, differs=True)
    words, others = _WORD.findall(line), _WORD.findall(wanted)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return _line(line, differs=True)
    pieces = [
        Piece("".join(words[start:end]), kind != "equal")
        for kind, start, end, _, _ in matcher.get_opcodes()
        if end > start
    ]
    # A word too few leaves nothing to mark but the line.
    return MarkedLine(tuple(pieces)) if any(_counts(piece) for piece in pieces) else _line(line, differs=True)


def _counts(piece: Piece) -> bool:
    return piece.differs and bool(piece.text.strip())


def _line(line: str, *, differs: bool) -> MarkedLine:
    return MarkedLine((Piece(line, differs and bool(line.strip())),))


def _plain(line: str) -> str:
    return " ".join(line.split())


def before_and_after(cases: Sequence[ComparedProblem]) -> Markup | None:
    if not cases:
        return None
    steps = sorted({answer.step for case in cases for answer in (case.before, case.after)})
    told = (
        f"{counted(len(cases), 'held-out problem')}, with the student's answers at its first and last evaluation "
        f"(steps {steps[0]} and {steps[-1]}). Coloured lines differ from the reference, and marked words are what "
        "differs in them. A design that differs can still be right."
    )
    return join(
        tag("h2", "Before, after, teacher, reference"),
        tag("p", told, class_="soft"),
        *(_case(case) for case in cases),
    )


def _case(case: ComparedProblem) -> Markup:
    columns = [
        _answer("Student before", case.before, case.reference, f"step {case.before.step}"),
        _answer("Student after", case.after, case.reference, f"step {case.after.step}"),
    ]
    if case.teacher is not None:
        columns.append(_answer("Teacher", case.teacher, case.reference))
    if case.reference is not None:
        told = tag("p", "not part of any prompt", class_="soft")
        code = _code(unmarked(cut(case.reference)))
        columns.append(tag("section", tag("h4", "Reference"), told, tag("div"), code, tag("div")))
    return tag(
        "article",
        tag("h3", case.problem_id, tag("span", f" {_story(case)}", class_="soft")),
        tag("pre", cut(case.specification), class_="asked") if case.specification else None,
        tag("div", *columns, class_=f"beside of{len(columns)}"),
        class_="wide",
    )


def _story(case: ComparedProblem) -> str:
    if case.learned:
        told = "failed before, passes now"
    elif case.unlearned:
        told = "passed before, fails now"
    else:
        told = "still fails" if case.still_failing else "passed before and passes now"
    return f"{told}; its family is never trained on" if case.is_new else told


def _answer(title: str, answer: ShownAnswer, reference: str | None, when: str = "") -> Markup:
    """Five parts in every column, so that the code of all begins at one height."""
    right_ports = answer.differences == () and not answer.interface_notes and not answer.passed
    code = marked(_design(answer), reference)
    return tag(
        "section",
        tag("h4", title, tag("span", f" {when}", class_="soft") if when else None),
        tag("p", outcome(answer.rollout), ", interface as specified" if right_ports else None),
        _faults(answer),
        _code(code),
        tag("p", _distance(code) if code.compared else "", class_="soft"),
    )


def _faults(answer: ShownAnswer) -> Markup:
    """A wrong interface is why nothing else worked: compared with the reference's, else in the grader's words.

    Without one, what the tests said.
    """
    interface = answer.differences or answer.interface_notes
    reasons = answer.rollout.grade.reasons if answer.rollout.grade else ()
    faults, most = (interface, _MOST_DIFFERENCES) if interface else (reasons, _MOST_REASONS)
    if not faults or (answer.passed and not interface):
        return tag("div")
    rows = [tag("li", cut(fault, _MOST_REASON_LETTERS)) for fault in faults[:most]]
    if len(faults) > most:
        rows.append(tag("li", f"and {len(faults) - most} more"))
    return tag("ul", *rows, class_="faults")


def _design(answer: ShownAnswer) -> str:
    """The file that the grader read off the answer, or all of an answer without one, or with several."""
    files = list(answer.files.values())
    return cut(files[0].strip("\n") if len(files) == 1 and not answer.rollout.episode.files else _everything(answer))


def _everything(answer: ShownAnswer) -> str:
    written = answer.rollout.episode.files
    return "\n".join(f"// {path}\n{text}" for path, text in written.items()) or answer.rollout.episode.text


def _code(code: MarkedText) -> Markup:
    return tag("pre", *(_row(line) for line in code.lines)) if code.lines else tag("pre", "(empty)")


def _row(line: MarkedLine) -> Markup:
    whole = len(line.pieces) == 1
    words = [tag("mark", piece.text) if piece.differs and not whole else piece.text for piece in line.pieces]
    return tag("span", *words, "\n", class_="row differs" if line.differs else "row")


def _distance(code: MarkedText) -> str:
    if not code.differing and not code.missing:
        return "same as the reference"
    lacks = f"; {counted(code.missing, 'line')} of the reference missing" if code.missing else ""
    differ = "differs" if code.differing == 1 else "differ"
    return f"{counted(code.differing, 'line')} {differ} from the reference{lacks}"

"""Which lines of a design differ from the reference, and which words of them; spaces do not count."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

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

"""Answers that say what to change: unified diffs, `*** Begin Patch`, SEARCH and REPLACE; and the texts they make."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_START = re.compile(
    r"^(?:@@ |\*\*\* (?:Begin Patch|Add File:|Update File:)|<{5,9} ?(?:SEARCH|ORIGINAL)\b|--- \S[^\n]*+\n\+\+\+ )",
    re.MULTILINE,
)
_PATH = re.compile(r"(?:\+\+\+|\*\*\* (?:Add|Update) File:)[ \t]++(?:[ab]/)?(?P<path>[^\t\n]++)")
_OTHER_FILE = re.compile(r"diff --git |--- |\*\*\* (?:Begin|End|Delete|Move)")
_HUNK = re.compile(r"@@(?: -(?P<line>\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@)?")
_NOISE = re.compile(r"(?:index |new file mode|old mode|new mode|similarity |\\ No newline)")
_SEARCH, _EQUALS, _REPLACE = (re.compile(mark) for mark in (r"<{5,9} ?\w*\s*$", r"={5,9}\s*$", r">{5,9} ?\w*\s*$"))
_MARKED = re.compile(r"^[+-](?![+-]{2} )", re.MULTILINE)
_MOST_HUNKS = 200
_MOST_PLACES = 100
_MOST_WORK = 1 << 25  # characters that are searched for all hunks of an edit; 200 hunks in 90 kB are fewer


@dataclass(frozen=True)
class Hunk:
    """Lines that stand in a file, the lines that take their place, and where a diff says that they stand."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True)
class Edit:
    """The changes of one file; without a path where none was said."""

    path: str
    hunks: tuple[Hunk, ...]


def starts_an_edit(text: str) -> int | None:
    """Where the first change begins, if there is one."""
    found = _START.search(text)
    return None if found is None else found.start()


def has_marked_lines(text: str) -> bool:
    """Whether any line is marked as new or gone: a block that is called a diff may hold a whole file."""
    return _MARKED.search(text) is not None


def edits_in(text: str, *, is_diff: bool = False) -> list[Edit]:
    """Every change; in a block that is called a diff (`is_diff`), lines without any header are one hunk."""
    reader = _Reader(is_diff)
    for line in text.split("\n"):
        reader.take(line.removesuffix("\r"))
    return list(reader.edits())


def applied(edit: Edit, base: str) -> str | None:
    """The text with all changes, or None where one does not fit exactly one place. Indentation need not be the same."""
    if not base.strip():
        return None if any(hunk.old for hunk in edit.hunks) else "".join(_text(hunk.new) for hunk in edit.hunks)
    if len(edit.hunks) > _MOST_HUNKS or len(edit.hunks) * len(base) > _MOST_WORK:
        return None
    lines = base.split("\n")
    moved = 0  # lines that the hunks before have added
    for hunk in edit.hunks:
        at = _place(lines, hunk, moved)
        if at is None:
            return None
        lines[at : at + len(hunk.old)] = hunk.new
        moved += len(hunk.new) - len(hunk.old)
    return "\n".join(lines)


def rewritten(edit: Edit) -> str:
    """What all hunks leave, for a diff that shows a whole file."""
    return "".join(_text(hunk.new) for hunk in edit.hunks)


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _blank_lines(lines: list[str]) -> int:
    """How many it begins with."""
    return next((index for index, line in enumerate(lines) if line.strip()), len(lines))


def _place(lines: list[str], hunk: Hunk, moved: int) -> int | None:
    if not hunk.old:
        return hunk.line + moved if 0 < hunk.line + moved <= len(lines) else None
    places: list[int] = []
    for same in (str.rstrip, str.strip):
        text, wanted = ("\n" + "".join(f"{same(line)}\n" for line in part) for part in (lines, hunk.old))
        at, counted, line = text.find(wanted), 0, 0
        while at >= 0 and len(places) < _MOST_PLACES:
            line += text.count("\n", counted, at)
            places.append(line)
            counted, at = at, text.find(wanted, at + 1)
        if places:
            break
    if len(places) > 1 and not hunk.line:
        return None
    return min(places, key=lambda place: abs(place - moved - hunk.line + 1), default=None)


class _Reader:
    """Line by line: outside of changes, in a hunk of a diff, or in a SEARCH block and its replacement."""

    def __init__(self, is_diff: bool) -> None:
        self._found: dict[str, list[Hunk]] = {}
        self._path = ""
        self._old: list[str] = []
        self._new: list[str] = []
        self._line = 0
        self._state = "hunk" if is_diff else ""

    def edits(self) -> Iterator[Edit]:
        self._end()
        for path, hunks in self._found.items():
            if hunks:
                yield Edit(path, tuple(hunks))

    def take(self, line: str) -> None:
        if self._state in ("search", "replace"):
            self._in_search(line)
        elif _SEARCH.match(line):
            self._begin("search")
        elif header := _HUNK.match(line):
            self._begin("hunk", int(header["line"] or 0))
        elif path := _PATH.match(line):
            self._begin("hunk")
            self._path = path["path"].strip().strip("`\"'")
        elif _OTHER_FILE.match(line):
            self._begin("")
        elif self._state and not _NOISE.match(line):
            self._in_hunk(line)

    def _in_search(self, line: str) -> None:
        if self._state == "search" and _EQUALS.match(line):
            self._state = "replace"
        elif self._state == "replace" and _REPLACE.match(line):
            self._begin("")
        else:
            (self._old if self._state == "search" else self._new).append(line)

    def _in_hunk(self, line: str) -> None:
        mark, rest = line[:1], line[1:]
        if mark in ("-", " ", ""):
            self._old.append(rest)
        if mark in ("+", " ", ""):
            self._new.append(rest)
        if mark not in ("+", "-", " ", ""):  # a line of the file that lost its mark
            self._old.append(line)
            self._new.append(line)

    def _begin(self, state: str, line: int = 0) -> None:
        self._end()
        self._state, self._line = state, line

    def _end(self) -> None:
        old, new = self._old, self._new
        while old and new and not old[-1].strip() and not new[-1].strip():  # blank lines behind a diff are not context
            old.pop()
            new.pop()
        if self._state == "hunk" and not self._line:
            blank = min(_blank_lines(old), _blank_lines(new))
            old, new = old[blank:], new[blank:]
        if old != new:
            self._found.setdefault(self._path, []).append(Hunk(tuple(old), tuple(new), self._line))
        self._old, self._new, self._line = [], [], 0

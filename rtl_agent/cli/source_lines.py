"""The line that a diagnostic is about, with a caret below the place, as compilers show it.

The line is a model's text: control characters are written out, tabs become spaces, and of a long line the part around
the place is shown. Both lines fit into the width, wide characters counted as the two columns that they take.
"""

import re
from collections.abc import Mapping

from rich.cells import cell_len

from rtl_agent.cli.console import harmless
from rtl_agent.grading import Diagnostic

_TAB = 4
_CUT = "..."
_LEAST_WIDTH = 20  # of the text; a narrower terminal wraps it
_MOST_LOOKED_AT = 100_000  # characters of a line; the place is nearer, or the line is not shown
_QUOTED = re.compile(r"[`'\"]([A-Za-z_]\w*)['\"]")


def excerpt(found: Diagnostic, files: Mapping[str, str], width: int) -> tuple[str, ...]:
    """The line and a caret; the line alone where no column is known; nothing where there is no such line."""
    line = _line(files.get(found.file), found.line)
    if line is None or not line.strip() or len(line) > _MOST_LOOKED_AT:
        return ()
    at = _place(found, line)
    head = f"{found.line:5} | "
    text, caret = _window(line, at, max(_LEAST_WIDTH, width - len(head)))
    if caret is None:
        return (head + text,)
    return head + text, " " * (len(head) - 2) + "| " + " " * caret + "^"


def _line(text: str | None, number: int) -> str | None:
    """As tools count: by newlines alone, and a carriage return before one belongs to it."""
    lines = (text or "").split("\n", number)
    return lines[number - 1].removesuffix("\r") if 0 < number <= len(lines) else None


def _place(found: Diagnostic, line: str) -> int | None:
    """The character that a column means. slang counts bytes; Verilator counts what its preprocessor has left, so its
    columns hold only where nothing was taken out or put in. Icarus has none: a name that it quotes is looked up."""
    if found.column and not (found.tool == "verilator" and ("/*" in line or "`" in line)):
        data = line.encode(errors="replace")
        return len(data[: found.column - 1].decode(errors="ignore")) if found.column <= len(data) + 1 else None
    names = dict.fromkeys(_QUOTED.findall(found.text))
    places = [match.start() for name in names for match in re.finditer(rf"\b{name}\b", line)]
    return places[0] if len(places) == 1 else None


def _window(line: str, at: int | None, width: int) -> tuple[str, int | None]:
    """As much of the line around a place as fits, and the column of the place in it."""
    shown = [_shown(mark) for mark in line.rstrip()]
    if at is not None:
        shown += [" "] * (at + 1 - len(shown))  # what is missing is missed behind the end
    widths = [cell_len(text) for text in shown]
    first, last = 0, len(shown)
    if sum(widths) > width:
        room = width - 2 * len(_CUT)
        first = last = min(at or 0, len(shown) - 1)
        used = 0
        # The place stands in the middle, unless the line begins or ends before.
        while first > 0 and used + widths[first - 1] <= room // 2:
            first -= 1
            used += widths[first]
        while last < len(shown) and used + widths[last] <= room:
            used += widths[last]
            last += 1
        while first > 0 and used + widths[first - 1] <= room:
            first -= 1
            used += widths[first]
    text = (_CUT if first else "") + "".join(shown[first:last]) + (_CUT if last < len(shown) else "")
    caret = None if at is None else (len(_CUT) if first else 0) + sum(widths[first:at])
    return text.rstrip() if at is None else text, caret


def _shown(mark: str) -> str:
    return " " * _TAB if mark == "\t" else harmless(mark)

"""HTML from Python values, in which text is text: what is not `Markup` is escaped, whoever wrote it."""

import html
import re
from collections.abc import Iterable, Sequence

# Controls that browsers drop or obey: NUL, escapes, and the marks that reorder text so that code reads as other code.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_VOID = {"meta", "br", "hr", "img", "line", "path", "rect", "circle", "polyline", "polygon"}


class Markup(str):
    """HTML made here, not to be escaped again."""

    __slots__ = ()


Child = str | int | float | None


def text(value: object) -> Markup:
    shown = _HIDDEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", str(value))
    return Markup(html.escape(shown, quote=True))


def join(*parts: Child) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else text(part) for part in parts if part is not None))


def tag(name: str, /, *children: Child, **attributes: Child) -> Markup:
    """`tag("a", "x < y", class_="note")`; a trailing underscore and inner ones are for Python's sake."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(*children)}</{name}>")


# A page with six endless answers would not open on a phone.
MOST_CHARACTERS = 20_000


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def cut(words: str, most: int = MOST_CHARACTERS) -> str:
    if len(words) <= most:
        return words
    return f"{words[:most]}\n({len(words) - most} more characters)"


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def duration(seconds: float) -> str:
    """`41 s`, `12 min 5 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def table(heads: Sequence[str], rows: Iterable[Sequence[Child]], *, names: int = 1, class_: str = "") -> Markup:
    """The first `names` columns are text, the others numbers. On a phone a row can be read without its head."""
    kinds = ["name" if at < names else "number" for at in range(len(heads))]
    head = tag("tr", *(tag("th", name, class_=kind) for name, kind in zip(heads, kinds, strict=True)))
    body = [
        tag(
            "tr",
            *(tag("td", cell, class_=kind, data_head=name) for cell, name, kind in zip(row, heads, kinds, strict=True)),
        )
        for row in rows
    ]
    shown = tag("table", tag("thead", head), tag("tbody", *body), class_=class_ or None)
    return tag("div", shown, class_="scroll")

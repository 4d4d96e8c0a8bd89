"""HTML from Python values, in which text is text: what is not `Markup` is escaped, whoever wrote it."""

import html
import re

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

"""Where in a JSON object its values are, in bytes, and what its strings say: of objects that are cut off or broken too.

`json_object.py` judges a call; this one only finds what there is of it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPACE = re.compile(rb"[ \t\r\n]*")
_INSIDE = rb'[^"\\]*(?:\\.[^"\\]*)*'  # of a string
_STRING = re.compile(rb'"(' + _INSIDE + rb')(\\?)("?)', re.DOTALL)
_STRUCTURE = re.compile(rb'"' + _INSIDE + rb'"?|[{}\[\]]', re.DOTALL)
_LITERAL = re.compile(rb"[^,}\]\s]*")
_HIGH, _LOW, _HEX = rb"[dD][89abAB][0-9a-fA-F]{2}", rb"[dD][c-fC-F][0-9a-fA-F]{2}", rb"[0-9a-fA-F]"
_ESCAPE = re.compile(rb'\\(?:(["\\/bfnrt])|u(' + _HIGH + rb")\\u(" + _LOW + rb")|u(" + _HEX + rb"{4}))")
_CUT_ESCAPE = re.compile(rb"\\(?:u" + _HEX + rb"{0,3}|u" + _HIGH + rb"(?:\\(?:u" + _HEX + rb"{0,3})?)?)?\Z")
_SHORT = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True))


@dataclass(frozen=True)
class Member:
    """A key and its value, from and to (exclusive); of a string without the quotes."""

    key: str
    begin: int
    end: int
    is_string: bool
    closed: bool  # False: the text ended within it


@dataclass(frozen=True)
class ObjectSpan:
    begin: int
    end: int
    closed: bool
    members: tuple[Member, ...]

    def member(self, *keys: str) -> Member | None:
        return next((member for member in self.members if member.key in keys), None)


@dataclass(frozen=True)
class Unescaped:
    """What a string says. Of every position in what was written, `at` is the position in `text`: None in an escape."""

    text: bytes
    at: Sequence[int | None]


def object_span(data: bytes, at: int = 0) -> ObjectSpan | None:
    """The object that begins here, behind space; None if there is none. One that is broken ends where it broke."""
    begin = _skip(data, at)
    if data[begin : begin + 1] != b"{":
        return None
    members: list[Member] = []
    at = _skip(data, begin + 1)
    while at < len(data) and data[at : at + 1] != b"}":
        key = _STRING.match(data, at)
        if key is None or not key[3]:
            return ObjectSpan(begin, at, False, tuple(members))
        at = _skip(data, key.end())
        if data[at : at + 1] != b":":
            return ObjectSpan(begin, at, False, tuple(members))
        said = unescaped(key[1])
        member = _value((said.text if said else key[1]).decode(errors="replace"), data, _skip(data, at + 1))
        members.append(member)
        at = _skip(data, member.end + (member.is_string and member.closed))
        if data[at : at + 1] != b",":
            break
        at = _skip(data, at + 1)
    closed = data[at : at + 1] == b"}"
    return ObjectSpan(begin, at + closed, closed, tuple(members))


def unescaped(raw: bytes, *, closed: bool = True) -> Unescaped | None:
    """None for what JSON does not know: another escape, half of a surrogate pair. One that was cut off is left out."""
    text = bytearray()
    at: list[int | None] = []
    done = 0
    for found in re.finditer(rb"\\", raw):
        if found.start() < done:  # the second backslash of \\
            continue
        at += range(len(text), len(text) + found.start() - done + 1)
        text += raw[done : found.start()]
        escape = _ESCAPE.match(raw, found.start())
        character = escape and _character(escape)
        if escape is None or character is None:
            if closed or not _CUT_ESCAPE.match(raw, found.start()):
                return None
            return Unescaped(bytes(text), [*at, *[None] * (len(raw) - found.start())])
        text += character
        at += [None] * (escape.end() - escape.start() - 1)
        done = escape.end()
    at += range(len(text), len(text) + len(raw) - done + 1)
    return Unescaped(bytes(text) + raw[done:], at)


def escaped(text: bytes) -> tuple[bytes, Unescaped]:
    """A string of JSON without its quotes, and what of it is what of the text. Bytes that are not UTF-8 stay."""
    raw = json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False)[1:-1].encode(
        "utf-8", "surrogateescape"
    )
    said = unescaped(raw)
    assert said is not None
    assert said.text == text
    return raw, said


class Nesting:
    """Whether a JSON object that comes piece by piece is inside of a string, or done."""

    def __init__(self) -> None:
        self.in_string = False
        self._depth, self._begun, self._escaped = 0, False, False

    @property
    def done(self) -> bool:
        return self._begun and self._depth == 0 and not self.in_string

    def feed(self, piece: bytes) -> None:
        for byte in piece:
            if self._escaped:
                self._escaped = False
            elif self.in_string:
                self._escaped = byte == 0x5C
                self.in_string = byte != 0x22
            elif byte == 0x22:
                self.in_string = True
            elif byte in b"{[":
                self._depth, self._begun = self._depth + 1, True
            elif byte in b"}]":
                self._depth -= 1


def _value(key: str, data: bytes, at: int) -> Member:
    if string := _STRING.match(data, at):
        closed = bool(string[3]) and not string[2]
        return Member(key, at + 1, string.end() - closed, True, closed)
    if data[at : at + 1] not in (b"{", b"["):
        end = _literal_end(data, at)
        return Member(key, at, end, False, end < len(data))
    depth = 0
    for found in _STRUCTURE.finditer(data, at):
        depth += (found[0] in (b"{", b"[")) - (found[0] in (b"}", b"]"))
        if depth == 0:
            return Member(key, at, found.end(), False, True)
    return Member(key, at, len(data), False, False)


def _literal_end(data: bytes, at: int) -> int:
    found = _LITERAL.match(data, at)
    return found.end() if found else at


def _character(escape: re.Match[bytes]) -> bytes | None:
    short, high, low, one = escape.groups()
    if short:
        return bytes([_SHORT[short[0]]])
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00).encode()
    code = int(one, 16)
    return None if 0xD800 <= code < 0xE000 else chr(code).encode()


def _skip(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at

"""VCD as text -> signals and their changes. What is read is hostile: every size has a bound, and nothing is trusted.

A simulator that a design has broken can write anything to its file. So what makes no sense raises `VcdError` with a
sentence, what is too much is left out and said (`Vcd.notes`), and a file that ends early is read as far as it goes.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

MOST_BYTES = 64 * 1024 * 1024
MOST_SIGNALS = 20_000
MOST_DEPTH = 128
MOST_BITS = 65_536
MOST_LETTERS = 200  # of one name
LONGEST_LINE = MOST_BITS + 64
_LONGEST_HEADER_WORD = 1000
_LATEST = 2**64
_UNITS = {"fs": 1, "ps": 10**3, "ns": 10**6, "us": 10**9, "ms": 10**12, "s": 10**15}
_SCALE = re.compile(r"(1|10|100)\s*(fs|ps|ns|us|ms|s)")
_RANGE = re.compile(r"\[-?\d{1,9}(:-?\d{1,9})?\]")
_UNPRINTABLE = re.compile(r"[^!-~]")
_SCALAR, _KNOWN = frozenset(b"01xXzZ"), b"01xzXZ"


class VcdError(ValueError):
    """This is no VCD that can be read. The message is a sentence."""


@dataclass(frozen=True)
class Signal:
    """`path` is of names without the escaping backslash; the first one is the root's."""

    path: tuple[str, ...]
    width: int
    id: bytes
    real: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass
class Vcd:
    """The header. `changes` goes on from there, once."""

    stream: BinaryIO
    fs: int = 1  # femtoseconds of a tick
    unit: str = "fs"  # "1ps", as the file has it
    signals: list[Signal] = field(default_factory=list)
    ports: dict[str, str] = field(default_factory=dict)  # of the first module, name -> direction, where the file says
    notes: list[str] = field(default_factory=list)
    complete: bool = False  # the simulation came to its end while it was written
    read: int = 0

    def line(self) -> bytes:
        """The next one; b"" at the end, which a bound may make earlier."""
        if self.read >= MOST_BYTES:
            self.note(f"read up to {MOST_BYTES // 2**20} MiB only")
            return b""
        line = self.stream.readline(LONGEST_LINE + 1)
        self.read += len(line)
        if len(line) > LONGEST_LINE:
            raise VcdError("a line of the waves is longer than any value can be")
        return line

    def note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < 20:
            self.notes.append(text)


def open_vcd(stream: BinaryIO) -> Vcd:
    """Read the header."""
    vcd, scopes = Vcd(stream), list[str]()
    for command, words in _commands(vcd):
        match command, words:
            case "$timescale", _:
                _set_scale(vcd, " ".join(words))
            case "$scope", [_, name, *_]:
                if len(scopes) >= MOST_DEPTH:
                    raise VcdError(f"the waves have scopes more than {MOST_DEPTH} deep")
                scopes.append(_name(name))
            case "$upscope", _:
                if scopes:
                    scopes.pop()
            case "$var", [kind, width, identifier, name, *rest]:
                _add_signal(vcd, scopes, kind, width, identifier, name, rest)
            case "$comment", ["rtl-agent", *said]:
                _take_note(vcd, said)
            case "$enddefinitions", _:
                return vcd
    raise VcdError("the file of waves ends before its signals are declared")


def changes(vcd: Vcd, wanted: Collection[bytes] | None = None) -> Iterator[tuple[int, bytes, str]]:
    """Each change as (tick, id, value), in order of time; of the `wanted` ids only. A value is "01xz" letters, or a
    real number's text. `("", time)` with an empty id stands for a new time."""
    known = {signal.id: signal for signal in vcd.signals}
    ids = known.keys() & wanted if wanted is not None else known.keys()
    now = 0
    while line := vcd.line():
        first = line[0]
        if first in _SCALAR:
            identifier = line[1:].rstrip()
            if identifier in ids:
                yield now, identifier, chr(first).lower()
        elif first == 0x23:  # "#"
            now = _time(line, now)
            yield now, b"", ""
        elif first in b"bB":
            value, _, identifier = line[1:].partition(b" ")
            identifier = identifier.rstrip()
            if identifier in ids:
                if not value or value.translate(None, _KNOWN) or len(value) > known[identifier].width:
                    raise VcdError(f"the waves give {known[identifier].name} a value that it cannot have")
                yield now, identifier, value.decode().lower()
        elif first in b"rR":
            value, _, identifier = line[1:].partition(b" ")
            identifier = identifier.rstrip()
            if identifier in ids:
                yield now, identifier, value[:40].decode("ascii", "replace")
        elif first == 0x24:  # "$"
            words = line.decode("ascii", "replace").split()
            if words[:2] == ["$comment", "rtl-agent"]:
                _take_note(vcd, words[2:-1])
        elif not line.isspace():
            raise VcdError("the file of waves holds what is no change of a value")
    if not vcd.complete:
        vcd.note("the simulation was stopped while the waves were written")


def _commands(vcd: Vcd) -> Iterator[tuple[str, list[str]]]:
    """Every `$word ... $end` of the header, whichever way it is broken into lines."""
    command, words, letters = "", list[str](), 0
    while line := vcd.line():
        for raw in line.split():
            word = raw.decode("ascii", "replace")
            if not command:
                if not word.startswith("$"):
                    raise VcdError("the file of waves does not begin as a VCD does")
                command, words, letters = word, [], 0
            elif word == "$end":
                yield command, words
                command = ""
            elif letters < _LONGEST_HEADER_WORD:
                words.append(word[:_LONGEST_HEADER_WORD])
                letters += len(word)


def _set_scale(vcd: Vcd, text: str) -> None:
    found = _SCALE.fullmatch(text.strip())
    if found is None:
        raise VcdError("the waves have a time scale that there is not")
    vcd.fs, vcd.unit = int(found[1]) * _UNITS[found[2]], found[1] + found[2]


def _add_signal(
    vcd: Vcd, scopes: list[str], kind: str, width: str, identifier: str, name: str, rest: list[str]
) -> None:
    if len(vcd.signals) >= MOST_SIGNALS:
        vcd.note("left out signals")
        return
    bits = int(width) if width.isdecimal() and len(width) <= 9 else 0
    if not 1 <= bits <= MOST_BITS or len(identifier) > 16:
        vcd.note("left out bits")
        return
    selected = rest[0] if rest and ":" not in rest[0] and _RANGE.fullmatch(rest[0]) else ""  # one bit of a vector
    path = (*scopes, _name(name) + selected)
    vcd.signals.append(Signal(path, bits, identifier.encode("ascii", "replace"), kind == "real"))


def _name(word: str) -> str:
    """Without the backslash of an escaped name; letters that are none become `?`."""
    return _UNPRINTABLE.sub("?", word.removeprefix("\\"))[:MOST_LETTERS] or "?"


def _take_note(vcd: Vcd, words: list[str]) -> None:
    match words:
        case ["port", ("input" | "output" | "inout") as way, name]:
            if len(vcd.ports) < MOST_SIGNALS:
                vcd.ports[_name(name)] = way
        case ["end"]:
            vcd.complete = True
        case ["cut", *_]:
            vcd.complete = True
            vcd.note(" ".join(words)[:100])
        case ["left", "out", ("signals" | "scopes" | "bits") as what]:
            vcd.note(f"left out {what}")


def _time(line: bytes, before: int) -> int:
    digits = line[1:].strip()
    if not digits.isdigit() or len(digits) > 20 or (time := int(digits)) >= _LATEST:
        raise VcdError("the waves have a time that is no number")
    if time < before:
        raise VcdError("the waves go back in time")
    return time

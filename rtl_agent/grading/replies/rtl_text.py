"""Verilog as far as reading a reply needs it: what is comment or string, and which design units a text declares."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

# An unclosed comment goes to the end, an unclosed string to the end of its line: no part is ever looked at twice.
HIDDEN = re.compile(r'//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)|"(?:[^"\\\n]++|\\(?s:.))*+"?|\\[!-~]++|`[A-Za-z_]\w*+', re.ASCII)
_KEYWORD = re.compile(
    r"\b(?:(macromodule|module|package|interface|primitive|program)|"
    r"end(?:module|package|interface|primitive|program))\b",
    re.ASCII,
)
# `module m` in prose is no declaration: a header goes on with its ports, parameters, imports or its end.
_HEADER = re.compile(
    r"\w++\s++(?:(?:automatic|static)\s++)?([A-Za-z_][\w$]*+)\s*+(?=[;#(]|import\b|extends\b)", re.ASCII
)
_NOT_DECLARED = re.compile(r"\b(?:virtual|extern|modport)\s{1,8}$", re.ASCII)
_NO_PORTS = re.compile(r"\s*+(?:\(\s*+\)\s*+)?;", re.ASCII)
_BRACKET = re.compile(r"[()]")
_BENCH_NAME = re.compile(r"(?:^|_)(?:tb|testbench|test|bench|stimulus|sim)\d*(?:_|$)", re.IGNORECASE | re.ASCII)
_RTL = re.compile(
    r"\b(?:module|endmodule|endpackage|endinterface|endprimitive|assign|always(?:_ff|_comb|_latch)?|typedef|"
    r"localparam|posedge|endfunction)\b",
    re.ASCII,
)
_DIRECTIVE = re.compile(r"`(?:define|include|ifndef|ifdef)\b", re.ASCII)
_DOTS = re.compile(r"\.\.\.|…")
_DOTS_IN_A_COMMENT = re.compile(r"^[ \t]*+(?://|/\*)[ \t]*+(?:\.\.\.|…)", re.MULTILINE)
# A type, a module or a package that is used: `fifo #(`, `fifo u_fifo (`, `bus_if bus,`, `pkg::`, `bus_if.master`.
_USED = re.compile(r"\b([A-Za-z_][\w$]*+)(?=\s*+#\s*+\(|\s++[A-Za-z_][\w$]*+\s*+[\[(,);]|\s*+::|\.[A-Za-z_])", re.ASCII)


@dataclass(frozen=True)
class Unit:
    """A module, package, interface, primitive or program, and where it stands in its text."""

    name: str
    start: int
    end: int
    complete: bool
    has_ports: bool

    @property
    def looks_like_a_bench(self) -> bool:
        return not self.has_ports and _BENCH_NAME.search(self.name) is not None


class RtlText:
    """A text with what was found in it, each only when it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def masked(self) -> str:
        """As long as the text, with blanks for comments, strings and macro names."""
        return HIDDEN.sub(_blank, self.text)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        return tuple(_units(self.masked))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(unit.name for unit in self.units)

    @cached_property
    def used(self) -> frozenset[str]:
        return frozenset(_USED.findall(self.masked))

    @property
    def complete(self) -> bool:
        return all(unit.complete for unit in self.units)

    @cached_property
    def is_outline(self) -> bool:
        """Whether dots stand for code that is left out, alone or in a comment of their own."""
        return _DOTS.search(self.masked) is not None or _DOTS_IN_A_COMMENT.search(self.text) is not None

    @cached_property
    def has_rtl(self) -> bool:
        return bool(self.units or _RTL.search(self.masked) or _DIRECTIVE.search(self.text))


def _blank(hidden: re.Match[str]) -> str:
    found = hidden[0]
    if found[0] == "\\" and found[1:].isidentifier():  # `\alu ` is the module alu
        return f" {found[1:]}"
    return "\n".join(" " * len(line) for line in found.split("\n"))


def _units(masked: str) -> Iterator[Unit]:
    name, kind, start, depth, body = "", "", 0, 0, 0
    for found in _KEYWORD.finditer(masked):
        begins = found[1]
        if begins is not None:
            header = _HEADER.match(masked, found.start())
            if (
                header is None
                or (depth and begins != kind)
                or _NOT_DECLARED.search(masked[max(0, found.start() - 16) : found.start()])
            ):
                continue
            if depth == 0:
                name, kind, start, body = header[1], begins, found.start(), header.end()
            depth += 1
        elif depth and found[0] == f"end{kind.removeprefix('macro')}":
            depth -= 1
            if depth == 0:
                yield Unit(name, start, found.end(), True, _has_ports(masked, body, found.end()))
    if depth:
        yield Unit(name, start, len(masked), False, _has_ports(masked, body, len(masked)))


def _has_ports(masked: str, at: int, end: int) -> bool:
    """From behind the name: parameters are skipped, then there is a list of ports or none."""
    if masked.startswith("#", at):
        depth = 0
        for bracket in _BRACKET.finditer(masked, at, end):
            depth += 1 if bracket[0] == "(" else -1
            if depth == 0:
                at = bracket.end()
                break
    return _NO_PORTS.match(masked, at, end) is None

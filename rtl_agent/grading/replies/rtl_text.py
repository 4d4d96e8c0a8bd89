"""Verilog as far as reading a reply needs it: comments and strings, the design units of a text, code within prose."""

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
_END_LABEL = re.compile(r"\s*+:\s*+([A-Za-z_][\w$]*+)", re.ASCII)
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
_TOKEN = re.compile(r"\w++|\S")


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


def tokens_of(text: str) -> list[str]:
    """Words and signs; blanks, line ends and comments do not count."""
    return _TOKEN.findall(HIDDEN.sub(lambda hidden: " " if hidden[0].startswith("/") else hidden[0], text))


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
                label = _END_LABEL.match(masked, found.end())
                end = label.end() if label and label[1] == name else found.end()
                yield Unit(name, start, end, True, _has_ports(masked, body, end))
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


_UNIT_LINE = re.compile(
    r"^[ \t]*+(?:\(\*[^\n]{0,200}?\*\)[ \t]*+)?(?:macromodule|module|package|interface|primitive|program)\b",
    re.MULTILINE,
)
_TAG = re.compile(
    r"<(/?)(?:answer|final|final_answer|final-answer|solution|result|response|output|code|pre|rtl|verilog|systemverilog|"
    r"file|artifact|content|div|p)(?:\s[^<>\n]{0,200})?>",
    re.IGNORECASE,
)
DIRECTIVE = (
    r"`(?:timescale|default_nettype|define|undef|undefineall|ifdef|ifndef|elsif|else|endif|include|resetall|celldefine|"
    r"endcelldefine|begin_keywords|end_keywords|line|pragma)\b"
)
_CODE_LINE = re.compile(
    rf"\s*+(?:{DIRECTIVE}|\(\*|(?:import|typedef|localparam|parameter|function|endfunction|timeunit)\b|\}})", re.ASCII
)
_LINE_OF_A_LIST = re.compile(r"\s*+[\w\[\]:'= ]*+[,;{(]\s*+$", re.ASCII)
_LABEL = re.compile(r"[^\S\n]*+(?::[^\S\n]*+\w++[^\S\n]*+)?(?=\n|\Z)", re.ASCII)
_ENDED_ABOVE = re.compile(r"^(\}|endfunction|endtask)\s*+[^;{}]{0,200}(?:;|$)", re.ASCII)
_BEGUN = {"}": ("typedef ", "struct ", "enum "), "endfunction": ("function ",), "endtask": ("task ",)}
_CODE_SPAN = re.compile(r"`[^`\n]{1,200}`")
# Two words, a mark of Markdown, or what a chat page writes on its button.
_PROSE = re.compile(
    r"(?:[-*+#>|]{1,6}[ \t]|\d{1,3}[.)][ \t]|\*\*|-{3,}$|={3,}$|[^\W\d_][\w'’,-]*+[ \t]++\(?\w|copy$|edit$|\w++:$)",
    re.I,
)
_STATEMENT = re.compile(
    r"(?:assign|always\w*|initial|final|begin|end\w*|else|if|case\w*|for|while|wire|reg|logic|bit|int|integer|genvar|input|"
    r"output|inout|parameter|localparam|typedef|function|task|import|export|bind|module|package|interface|generate|property|"
    r"sequence|assert|class|config|primitive|program|timeunit|timeprecision|let|struct|union|enum|virtual|extern)"
    r"\b(?![ \t]*+:$)"
)
_MOST_LINES_AROUND = 200


def without_tags(prose: str) -> str:
    """`<answer>` and its like become line ends. As long as it was, so that places stay."""
    return _TAG.sub(
        lambda tag: ("\n" if tag[1] else "").ljust(len(tag[0]) - 1) + ("" if tag[1] else "\n") or " ", prose
    )


def code_in(prose: str) -> list[tuple[int, int]]:
    """Where code stands: units with what belongs to them, as start and end."""
    first = _UNIT_LINE.search(prose)
    if first is None:
        return []
    begin = _above(prose, first.start(), 0)
    tail = RtlText(prose[begin:])
    spans: list[tuple[int, int]] = []
    for unit in tail.units:
        before = spans[-1][1] if spans else 0
        line_start = max(tail.text.rfind("\n", before, unit.start) + 1, before)
        if tail.masked[line_start : unit.start].strip():
            continue  # words about a module
        end = _below(tail, unit.end)
        if spans and _is_code(tail.masked[before:line_start]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((_above(tail.text, line_start, before), end))
    return [(begin + start, begin + end) for start, end in spans]


def without_words_around(text: str) -> str:
    """A block without prose above its first unit and below its last: an explanation in a block that nobody closed.

    Lines that could be code stay, right or wrong: a file that is broken is not repaired.
    """
    rtl = RtlText(text)
    if not rtl.units or not rtl.units[-1].complete:
        return text
    above, below = text[: rtl.units[0].start], text[rtl.units[-1].end :]
    kept = _without_first_words(above, rtl.masked)
    return kept + text[len(above) : rtl.units[-1].end] + _without_last_words(below)


def _without_first_words(above: str, masked: str) -> str:
    at = begins = 0
    for line in above.splitlines(keepends=True):
        seen = masked[at : at + len(line)]
        at += len(line)
        if at > len(above) - 1 and not line.endswith("\n"):
            break  # the line of the unit itself
        if _is_prose(line) and seen.strip():
            begins = at
        elif seen.strip() or line.lstrip().startswith("`"):
            break
    return above[begins:]


def _without_last_words(below: str) -> str:
    lines = below.split("\n")
    if lines[0].strip() and not lines[0].strip().startswith("//"):
        return below
    words = [index for index, line in enumerate(lines) if line.strip() and not line.strip().startswith(("//", "`"))]
    if not words or not all(_is_prose(lines[index]) for index in words):
        return below
    return "\n".join(lines[: words[0]]) + "\n"


def _is_prose(line: str) -> bool:
    said = _CODE_SPAN.sub("", line).strip()
    if not said:
        return "`" in line
    if len(said) >= 3 and not said.strip("'\""):  # a fence that was closed by other marks
        return True
    return said[-1] != ";" and _PROSE.match(said) is not None and _STATEMENT.match(said) is None


def _is_code(masked: str) -> bool:
    lines = [line for line in masked.split("\n") if line.strip()]
    return all(_CODE_LINE.match(line) or _LINE_OF_A_LIST.match(line) for line in lines)


def _below(tail: RtlText, at: int) -> int:
    """A label behind the end, and directives in the lines after it: an `ifndef` above has its `endif` there."""
    label = _LABEL.match(tail.masked, at)
    if label is None:  # words follow, and the line may be as long as the reply
        return at
    kept = end = label.end()
    for _ in range(_MOST_LINES_AROUND):
        if end >= len(tail.text):
            break
        start, end = end + 1, _line_end(tail.text, end + 1)
        line = tail.text[start:end].strip()
        if _CODE_LINE.match(line) and line != "}":  # the end of \\boxed{ is none of the code
            kept = end
        elif line and not line.startswith("//"):
            break
    return kept


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _above(prose: str, at: int, lowest: int) -> int:
    """Comments, directives and imports right above a unit are part of it; blank lines between them, too."""
    kept = at
    for _ in range(_MOST_LINES_AROUND):
        if at <= lowest:
            break
        start = max(prose.rfind("\n", lowest, at - 1) + 1, lowest)
        line = prose[start : at - 1].strip()
        if line.endswith("*/") and not line.startswith(("//", "/*")):
            opened = prose.rfind("/*", lowest, at)
            if opened < 0:
                break
            start = max(prose.rfind("\n", lowest, opened) + 1, lowest)
            kept = start
        elif ended := _ENDED_ABOVE.search(line):  # a type or a function of several lines
            opened = max(prose.rfind(f"{begun}", lowest, at) for begun in _BEGUN[ended[1]])
            if opened < 0:
                break
            start = max(prose.rfind("\n", lowest, opened) + 1, lowest)
            kept = start
        elif line.startswith(("//", "/*")) or _CODE_LINE.match(line):
            kept = start
        elif line:
            break
        at = start
    return kept

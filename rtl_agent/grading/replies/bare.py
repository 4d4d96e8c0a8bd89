"""Code that stands in prose without any fence: from a design unit at the start of a line to the end of the last one."""

import re

from rtl_agent.grading.replies.rtl_text import RtlText

_UNIT_LINE = re.compile(
    r"^[ \t]*+(?:\(\*[^\n]{0,200}?\*\)[ \t]*+)?(?:macromodule|module|package|interface|primitive|program)\b",
    re.MULTILINE,
)
_TAG = re.compile(
    r"<(/?)(?:answer|final|final_answer|final-answer|solution|result|response|output|code|pre|rtl|verilog|systemverilog|"
    r"file|artifact|content)(?:\s[^<>\n]{0,200})?>",
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
        if _CODE_LINE.match(line):
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
        elif line.startswith(("//", "/*")) or _CODE_LINE.match(line):
            kept = start
        elif line:
            break
        at = start
    return kept

"""A reply as prose and fenced blocks, in order. Forgiving where people and models differ from CommonMark:

a closing fence may be longer, glued to the last line, or have text behind it; an opening one may stand at the end of a
line of prose, quoted, or in a list; the next opening one ends a block that nobody closed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

RTL_LANGUAGES = frozenset({"verilog", "systemverilog", "sv", "v", "vlog", "svh", "vh", "hdl", "rtl", "system-verilog"})
_LANGUAGES = RTL_LANGUAGES | {
    *("bash", "sh", "shell", "console", "zsh", "powershell", "text", "txt", "plaintext", "plain", "output", "log"),
    *("json", "yaml", "yml", "toml", "xml", "html", "csv", "markdown", "md", "diff", "patch", "make", "makefile"),
    *(
        "js",
        "javascript",
        "ts",
        "typescript",
        "java",
        "rust",
        "go",
        "ruby",
        "php",
        "sql",
        "matlab",
        "scala",
        "latex",
        "tex",
    ),
    *("ini", "dot", "graphviz", "plantuml", "systemc", "chisel", "udiff", "asm"),
    *("python", "py", "c", "cpp", "c++", "tcl", "vhdl", "perl", "wavedrom", "mermaid", "ascii", "none", "table"),
}
_QUOTE_OR_LIST = r"[ \t]*+(?:(?:>|[-*+][ \t]|\d{1,3}[.)][ \t])[ \t]*+)*+"
FENCE = re.compile(rf"(?P<prefix>{_QUOTE_OR_LIST})(?P<marks>`{{3,}}+|~{{3,}}+)(?P<info>[^\n]*+)")
_AFTER_PROSE = re.compile(r"(?P<prefix>.*?[^`\s]\s*+)(?P<marks>`{3,}+)[ \t]*+(?P<info>[A-Za-z][\w+#-]*+)?[ \t\r]*+$")
_CLOSED_AT_ONCE = re.compile(r"(.*?)`{3,}+")
_END_WORD = re.compile(r"\bend(?:module|package|interface|primitive|program|class)\b", re.ASCII)
_BEGIN_WORD = re.compile(r"\s*+(?:module|package|interface|primitive|program|class)\b", re.ASCII)
_DIRECTIVE = re.compile(r"\s*+`[a-z]")
_GLUED = {
    mark: re.compile(rf"(?P<before>[^{mark}\n]*+(?:{mark}[^{mark}\n]++)*+)(?P<marks>{mark}{{3,}}+)(?P<after>[^\n]*+)")
    for mark in "`~"
}
_CODE_START = re.compile(r"\s*+(?://|/\*|\(\*|`[a-z]|(?:module|package|interface|import|typedef|timeunit)\b)", re.ASCII)
_QUOTED_LINE = re.compile(r"[ \t]*+(?:>[ \t]?)++")
_COMMENT = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|//[^\n]*+|/\*|\*/')
_ONLY_MARKS = re.compile(r"[\s/*]*+$")
_HEADING_LINES = 3
_DEEPEST = 3


@dataclass
class Segment:
    """Prose, or the inside of a block with what was said on its opening fence and just before it."""

    at: int
    is_block: bool
    text: str = ""
    info: str = ""
    heading: tuple[str, ...] = ()  # the last lines of prose before a block, the nearest first
    closed: bool = True

    @property
    def language(self) -> str:
        found = re.match(r"[\s{.]*+(?:language-|lang=\"?)?([A-Za-z][\w+#-]*+)", self.info)
        return found[1].lower() if found else ""

    @property
    def is_other_language(self) -> bool:
        return self.language in _LANGUAGES - RTL_LANGUAGES


def lines_of(text: str) -> list[str]:
    """With their ends; only a newline ends a line, whatever else Unicode calls one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def segments_of(text: str, depth: int = 0) -> list[Segment]:
    """Prose and blocks; a block that holds blocks itself, as a Markdown example does, is taken apart."""
    parser = _Parser(watch_comments=True)
    parser.read(lines_of(text))
    if parser.ignored_a_fence and parser.open_block is not None:  # the comment never ended: it was none
        parser = _Parser(watch_comments=False)
        parser.read(lines_of(text))
    found: list[Segment] = []
    for segment in parser.finish():
        inner = segments_of(segment.text, depth + 1) if depth < _DEEPEST and _holds_blocks(segment) else []
        if any(part.is_block for part in inner):
            found += [_moved(part, segment.at) for part in inner]
        else:
            found.append(segment)
    return found


def _moved(part: Segment, at: int) -> Segment:
    part.at += at
    return part


def _holds_blocks(segment: Segment) -> bool:
    """A block with a fence that is not in a comment of code."""
    if not segment.is_block or ("```" not in segment.text and "~~~" not in segment.text):
        return False
    in_comment = False
    for line in lines_of(segment.text):
        if not in_comment and FENCE.match(line):
            return True
        in_comment = _in_comment_after(line, in_comment)
    return False


@dataclass
class _Parser:
    watch_comments: bool
    ignored_a_fence: bool = False
    open_block: Segment | None = None
    _done: list[Segment] = field(default_factory=list)
    _inside: list[str] = field(default_factory=list)
    _marks: str = ""
    _prefix: str = ""
    _in_comment: bool = False
    _is_code: bool | None = None  # known at the first line that is not blank
    _seen_end: bool = False
    _shorter: int | None = None  # the first line inside that would have closed a shorter or another fence
    _at: int = 0
    _heading: list[str] = field(default_factory=list)
    _rereading: bool = False

    def read(self, lines: Iterable[str]) -> None:
        for line in lines:
            if self.open_block is None:
                self._outside_line(line)
            else:
                self._inside_line(line)
            self._at += len(line)

    def finish(self) -> list[Segment]:
        """A block that was never closed ends at a fence that was too short for it, or is cut off."""
        if self.open_block is not None and self._shorter is not None and not self._rereading:
            self._rereading = True
            after = self._inside[self._shorter :]
            self._at = self.open_block.at + sum(map(len, self._inside[: self._shorter]))
            del self._inside[self._shorter :]
            self._close()
            self.read(after[1:])
        if self.open_block is not None:
            self._close(closed=False)
        self._flush_prose()
        return self._done

    def _outside_line(self, line: str) -> None:
        bare = line.rstrip("\r\n")
        fence = FENCE.match(bare)
        if fence is None and "```" in bare:
            fence = _AFTER_PROSE.match(bare)
            if fence is not None:
                self._prose(fence["prefix"] + "\n")
        if fence is None:
            self._prose(line)
            return
        marks, info = fence["marks"], fence["info"] or ""
        at_once = _CLOSED_AT_ONCE.match(info) if marks[0] == "`" else None
        self._open(marks, "" if at_once else info, fence["prefix"])
        if at_once:
            language, _, code = at_once[1].strip().partition(" ")
            self._inside.append((code if language.lower() in _LANGUAGES else at_once[1]) + "\n")
            self._close()

    def _inside_line(self, line: str) -> None:
        assert self.open_block is not None
        line = self._unquoted(line)
        fence = FENCE.match(line)
        if fence is not None and not fence["prefix"].strip():
            info = fence["info"].strip()
            if not fence["marks"].startswith(self._marks):
                if not info and self._shorter is None:
                    self._shorter = len(self._inside)
            elif self._in_comment:
                self.ignored_a_fence = True
            else:
                self._close()
                if _opens_another(fence["info"]):
                    self._open(fence["marks"], fence["info"], fence["prefix"])
                elif info:
                    self._prose(info + "\n")
                return
        glued = None if fence or self._marks[:3] not in line else _GLUED[self._marks[0]].match(line)
        if glued is not None and self._is_end(glued):
            self._inside.append(glued["before"].rstrip() + "\n")
            self._close()
            self._prose(glued["after"] + "\n")
            return
        self._inside.append(line)
        if _END_WORD.search(line):
            self._seen_end = True
        elif _BEGIN_WORD.match(line):
            self._seen_end = False
        if self._is_code is None and line.strip():
            rtl = self.open_block.language in RTL_LANGUAGES
            self._is_code = rtl or (not self.open_block.is_other_language and _CODE_START.match(line) is not None)
        if self.watch_comments and self._is_code:
            self._in_comment = _in_comment_after(line, self._in_comment)

    def _is_end(self, glued: re.Match[str]) -> bool:
        """`endmodule` and a fence behind it; later also a fence that ends any line, but for one in a comment."""
        before = glued["before"]
        if not glued["marks"].startswith(self._marks) or self._in_comment or _ONLY_MARKS.match(before):
            return False
        if _END_WORD.search(before) or _DIRECTIVE.match(before):
            return True
        return not glued["after"].strip() and (self._seen_end or not self._is_code)

    def _unquoted(self, line: str) -> str:
        if ">" in self._prefix:
            return line[found.end() :] if (found := _QUOTED_LINE.match(line)) else line
        indent = len(self._prefix) if not self._prefix.strip() else 0
        blank = len(line) - len(line.lstrip(" \t"))
        return line[min(indent, blank) :]

    def _prose(self, text: str) -> None:
        if not self._done or self._done[-1].is_block:
            self._done.append(Segment(self._at, False))
            self._heading = []
        self._heading.append(text)

    def _open(self, marks: str, info: str, prefix: str) -> None:
        nearest = [line.strip() for line in reversed(self._heading[-12:]) if line.strip()] if self._heading else []
        self._flush_prose()
        self.open_block = Segment(self._at, True, "", info.strip(), tuple(nearest[:_HEADING_LINES]))
        self._marks, self._prefix, self._inside = marks, prefix, []
        self._in_comment, self._shorter, self._is_code, self._seen_end = False, None, None, False

    def _close(self, closed: bool = True) -> None:
        assert self.open_block is not None
        self.open_block.text, self.open_block.closed = "".join(self._inside), closed
        self._done.append(self.open_block)
        self.open_block = None
        self._heading = []

    def _flush_prose(self) -> None:
        if self._done and not self._done[-1].is_block and self._heading:
            self._done[-1].text += "".join(self._heading)
        self._heading = []


def _opens_another(info: str) -> bool:
    """Behind a fence inside a block: the name of a language opens another one, other words only follow its end."""
    words = info.strip().split()
    if not words:
        return False
    return words[0].strip("{}.").lower() in _LANGUAGES or (len(words) == 1 and info[0] not in " \t<")


def _in_comment_after(line: str, in_comment: bool) -> bool:
    for mark in _COMMENT.finditer(line):
        if mark[0] in ("/*", "*/"):
            in_comment = mark[0] == "/*"
        elif in_comment and "*/" in mark[0]:
            in_comment = False
    return in_comment

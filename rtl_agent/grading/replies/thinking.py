"""Thinking is not an answer: it is taken out of a reply, wherever it stands, and what was said besides is left."""

import re

from rtl_agent.grading.replies.fences import FENCE, lines_of

_NAMES = "think|thinking|thoughts?|reasoning|scratchpad"
_TAG = re.compile(
    rf"(?P<open>[<\[◁](?:{_NAMES})(?:\s[^<>\n]{{0,100}})?[>\]▷])|(?P<close>[<\[◁]/(?:{_NAMES})[>\]▷])",
    re.IGNORECASE | re.ASCII,
)
_MARK = re.compile(rf'{_TAG.pattern}|(?P<other>\\.|"|(?<!:)//|/\*|\*/)', re.IGNORECASE | re.ASCII)
_QUOTES = "`\"'"


def after_thinking(reply: str) -> str | None:
    """What was said outside of thinking; None when there is thinking and nothing else.

    Thinking ends at the first `</think>` after its start. Without a start (a prompt may have had it) everything before
    a `</think>` is thinking. A tag in a comment or string of the code that is answered, or quoted in prose, is no tag.
    """
    if _TAG.search(reply) is None:
        return reply
    walk = _Walk()
    for line in lines_of(reply):
        walk.take(line)
    kept = "".join(walk.kept)
    return kept if kept.strip() or not walk.thought else None


class _Walk:
    """Line by line: inside thinking or not, inside a fenced block or not, inside a comment or string or not."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.thinking = self.thought = False
        self._fence = ""
        self._in_comment = False

    def take(self, line: str) -> None:
        begins = 0  # of what is kept of this line
        rest_is_comment = in_string = False
        for mark in _MARK.finditer(line):
            is_code = rest_is_comment or in_string or self._in_comment
            if mark["other"] is None:
                if self.thinking:
                    if mark["close"]:
                        self.thinking, begins = False, mark.end()
                elif is_code or _is_quoted(line, mark):
                    continue
                elif mark["close"]:  # thinking whose start was in the prompt, or had none
                    self.kept.clear()
                    begins = mark.end()
                    self._forget()
                elif not line[begins : mark.start()].strip():  # a start counts at the start of a line only
                    self.thinking = True
                    self._forget()
            elif self.thinking or rest_is_comment:
                continue
            elif mark[0] == '"' and self._fence and not self._in_comment:
                in_string = not in_string
            elif mark[0] == "//" and not (in_string or self._in_comment):
                rest_is_comment = True
            elif mark[0] in ("/*", "*/") and self._fence and not in_string:
                self._in_comment = mark[0] == "/*"
        if not self.thinking:
            self._follow_fence(line[begins:])
            self.kept.append(line[begins:])

    def _forget(self) -> None:
        self.thought = True
        self._fence, self._in_comment = "", False

    def _follow_fence(self, line: str) -> None:
        fence = FENCE.match(line)
        if fence and (not self._fence or fence["marks"].startswith(self._fence)):
            closes = self._fence and not fence["info"].strip()
            self._fence, self._in_comment = "" if closes else fence["marks"], False


def _is_quoted(line: str, tag: re.Match[str]) -> bool:
    """Words about the tag, such as `</think>` in backticks."""
    before, after = line[tag.start() - 1 : tag.start()], line[tag.end() : tag.end() + 1]
    return before != "" and before == after and before in _QUOTES

"""A model's reply -> `Submission`: a fenced block for one file, JSON for several, thinking before it left out."""

import json
import re
from typing import Any

from rtl_agent.grading.submission import Submission, submit
from rtl_agent.problems import Problem

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n`]*")
_CODE_START = re.compile(
    r"\s*(//|/\*|\(\*|`\w|(module|package|interface|import|typedef|primitive|macromodule|program)\b)", re.ASCII
)
_CODE_END = re.compile(r"^[ \t]*end(module|package|interface|primitive|program)\b", re.MULTILINE)
MAX_REPLY = 4 * 1024 * 1024


def extract(problem: Problem, reply: str) -> Submission:
    """The files in a reply. A reply without any is unusable, and says why."""
    if len(reply) > MAX_REPLY:
        return Submission({}, (), f"the reply is longer than {MAX_REPLY} characters")
    text = after_thinking(reply)
    if text is None:
        return Submission({}, (), "the reply ends inside <think>: nothing was answered")
    if len(problem.targets) == 1:
        return _one_file(problem, text)
    return _several_files(problem, text)


def after_thinking(reply: str) -> str | None:
    """What follows the thinking; None when the thinking never ends."""
    _, closed, rest = reply.rpartition("</think>")
    if closed:
        return rest
    return None if rest.lstrip().startswith("<think>") else rest


def _one_file(problem: Problem, text: str) -> Submission:
    target = problem.targets[0]
    block, unclosed = first_block(text)
    named = _named_files(block if block is not None else text)
    if named is not None and target in named:
        return submit(problem, named)
    if block is not None:
        return submit(problem, {target: block})
    if unclosed:
        return Submission({}, (), "the code block is not closed: the reply was cut off")
    if _CODE_START.match(text) and _CODE_END.search(text):
        return submit(problem, {target: text.strip() + "\n"})
    return Submission({}, (), "the reply has no fenced code block")


def _several_files(problem: Problem, text: str) -> Submission:
    named = _named_files(text)
    if named is None:
        return Submission({}, (), 'the reply has no JSON object {"code": [{"<path>": "<text>"}, ...]}')
    return submit(problem, {path: _unfenced(content) for path, content in named.items()})


def first_block(text: str) -> tuple[str | None, bool]:
    """The text inside the first fenced block, and whether one was opened and never closed.

    By lines, not by one pattern: that took time by the square of a hostile reply's length.
    """
    marker = ""
    inside: list[str] = []
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if marker:
            if bare.strip(" \t") == marker:
                return "".join(inside), False
            inside.append(line)
        elif opening := _FENCE.fullmatch(bare):
            marker = opening[1]
    return None, bool(marker)


def _unfenced(text: str) -> str:
    block, _ = first_block(text)
    return text if block is None else block


def _named_files(text: str) -> dict[str, str] | None:
    """The files of the JSON object between the first `{` and the last `}`, if that is what they enclose."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        document: Any = json.loads(text[start : end + 1], strict=False)
    except (ValueError, RecursionError):  # a number of 5,000 digits is a ValueError of its own
        return None
    entries = document.get("code", document) if isinstance(document, dict) else None
    files: dict[str, str] = {}
    for entry in [entries] if isinstance(entries, dict) else entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            files.update({path: content for path, content in entry.items() if isinstance(content, str)})
    return files or None

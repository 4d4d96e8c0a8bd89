"""A model's reply -> `Submission`, read forgivingly or as CVDP's runner reads it; thinking is left out either way."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rtl_agent.grading.replies.choose import Chosen, choose, wanted, workspace_of
from rtl_agent.grading.replies.cleaned import without_end_tokens
from rtl_agent.grading.replies.documents import unwrapped
from rtl_agent.grading.replies.pieces import pieces_of
from rtl_agent.grading.replies.thinking import after_thinking
from rtl_agent.grading.submission import DEFAULT_EXTRACTION, Extraction, Submission, submit
from rtl_agent.problems import Problem

_LANGUAGE = re.compile(r"\w++\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FENCE = "```"
MAX_REPLY = 1024 * 1024  # as long as a file may be; a hostile reply of four times that took 5 s to read


def extract(problem: Problem, reply: str, extraction: Extraction = DEFAULT_EXTRACTION) -> Submission:
    """The files in a reply. A reply without any is unusable, and says why."""
    if len(reply) > MAX_REPLY:
        return _unusable(f"the reply is longer than {MAX_REPLY} characters", extraction)
    text = after_thinking(reply)
    if text is None:
        return _unusable("the reply ends inside <think>: nothing was answered", extraction)
    chosen = read_as_cvdp(problem.targets, text) if extraction is Extraction.CVDP else _forgiving(problem, text)
    if chosen.unusable is not None:
        refused = submit(problem, chosen.files).refused
        return replace(_unusable(chosen.unusable, extraction), refused=refused)
    return replace(submit(problem, chosen.files), extraction=extraction)


def _forgiving(problem: Problem, text: str) -> Chosen:
    text = unwrapped(without_end_tokens(text))
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return choose(wanted(problem), problem.given, workspace_of(problem), pieces_of(text))


def _unusable(reason: str, extraction: Extraction) -> Submission:
    return Submission({}, (), reason, extraction)


def read_as_cvdp(targets: Sequence[str], text: str) -> Chosen:
    if len(targets) == 1:
        block = first_block(text)
        return Chosen({targets[0]: text.strip() if block is None else block})
    text = _CONTROL.sub("", text.strip())  # line ends that a model did not escape are lost
    start, end = text.find("{"), text.rfind("}")
    try:
        document: Any = json.loads(text[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):  # a number of 5,000 digits is a ValueError of its own
        document = None
    entries = document.get("code") if isinstance(document, dict) else None
    files: dict[str, str] = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            files |= {name: code for name, code in entry.items() if isinstance(code, str)}
    if not files:
        return Chosen({}, 'the reply has no JSON object {"code": [{"<path>": "<text>"}, ...]}')
    blocks = {name: first_block(code) for name, code in files.items()}
    return Chosen({name: files[name] if block is None else block for name, block in blocks.items()})


def first_block(text: str) -> str | None:
    """From the first three backticks, a language's line left out, to the next three, wherever in a line they stand."""
    start = text.find(_FENCE)
    if start < 0:
        return None
    inside = start + len(_FENCE)
    language = _LANGUAGE.match(text, inside)
    for begin in (language.end() if language else inside, inside):
        end = text.find(_FENCE, begin)
        if end >= 0:
            return text[begin:end]
    return None

"""As CVDP's runner reads a reply: the first fenced block for one target, JSON for several, nothing guessed."""

import json
import re
from collections.abc import Sequence
from typing import Any

from rtl_agent.grading.replies.choose import Chosen

_LANGUAGE = re.compile(r"\w++\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FENCE = "```"


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

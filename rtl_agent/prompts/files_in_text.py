"""Files inside a prompt: fenced under their paths, whole or cut to their head."""

import re
from pathlib import PurePosixPath

LANGUAGES = {".sv": "systemverilog", ".svh": "systemverilog", ".v": "verilog", ".vh": "verilog", ".py": "python",
             ".md": "markdown", ".tcl": "tcl", ".json": "json"}  # fmt: skip


def language_of(path: str) -> str:
    return LANGUAGES.get(PurePosixPath(path).suffix, "")


def fenced(path: str, text: str) -> str:
    """The fence is longer than any inside the text, so that a specification in Markdown does not end it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"`{path}`:\n{fence}{language_of(path)}\n{text.rstrip()}\n{fence}"


def head(path: str, text: str, limit: int) -> str:
    """The first lines that have at most `limit` characters together, and a line that says what is missing."""
    if len(text) <= limit:
        return text
    lines = text.rstrip().splitlines()
    kept, size = 0, 0
    while kept < len(lines) and size + len(lines[kept]) + 1 <= limit:
        size += len(lines[kept]) + 1
        kept += 1
    left_out = len(lines) - kept
    if left_out == 0:
        return text
    count = "1 line" if left_out == 1 else f"{left_out} lines"
    return "\n".join((*lines[:kept], f"[... {count} of {path} left out to fit the prompt ...]"))

"""Apply the hunks of an agentic record's reference: a unified diff without its `---` and `+++` lines."""

import re

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"


class PatchError(ValueError):
    """The diff does not fit the text it should change."""


def apply_patch(original: str, diff: str) -> str:
    """The text after `diff`. Every context and removed line must match exactly: a reference is not guessed at."""
    source = original.splitlines(keepends=True)
    result: list[str] = []
    at = 0  # lines of `source` that are already in `result` or removed
    lines = diff.splitlines(keepends=True)
    index = 0
    while index < len(lines):
        if lines[index].startswith(("--- ", "+++ ", "diff ", "index ")) or not lines[index].strip():
            index += 1
            continue
        header = _HUNK.match(lines[index])
        if header is None:
            raise PatchError(f"line {index + 1} of the diff is no hunk header: {lines[index].rstrip()!r}")
        old_start, old_count = int(header[1]), int(header[2] or 1)
        new_count = int(header[4] or 1)
        start = old_start if old_count == 0 else old_start - 1
        if not at <= start <= len(source):
            raise PatchError(f"a hunk starts at line {old_start} of a text with {len(source)} lines")
        result += source[at:start]
        at = start
        index += 1
        while (old_count or new_count) and index < len(lines):
            mark, text = lines[index][:1], lines[index][1:]
            if mark == "\\":
                index += 1
                continue
            if mark in ("\n", "\r"):  # an empty context line that lost its leading space
                mark, text = " ", lines[index]
            if mark in (" ", "-"):
                if at >= len(source) or source[at].rstrip("\r\n") != text.rstrip("\r\n"):
                    found = source[at].rstrip("\r\n") if at < len(source) else "the end of the file"
                    raise PatchError(f"line {at + 1} should be {text.rstrip()!r} but is {found!r}")
                if mark == " ":
                    result.append(source[at])
                    new_count -= 1
                at += 1
                old_count -= 1
            elif mark == "+":
                last = index + 1 < len(lines) and lines[index + 1].startswith(_NO_NEWLINE)
                result.append(text.rstrip("\r\n") if last else text.rstrip("\r\n") + "\n")
                new_count -= 1
            else:
                raise PatchError(f"line {index + 1} of the diff starts with {mark!r}")
            index += 1
        if old_count > 0 or new_count > 0:
            raise PatchError("the last hunk is cut short")
        while index < len(lines) and lines[index].startswith("\\"):
            index += 1
    return "".join(result + source[at:])

"""Which relative paths a record, or an answer, may name."""

from pathlib import PurePosixPath


def why_unsafe(path: str) -> str | None:
    """The reason why this path must not be written below a workspace, or None for a plain relative path."""
    if path in ("", ".") or path.endswith("/"):
        return "names no file"
    if any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "has control characters"
    if any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        return "has half a character, which no file name can hold"
    if "\\" in path:
        return "has a backslash"
    if path.startswith("/"):
        return "is absolute"
    if ".." in PurePosixPath(path).parts:
        return "climbs out with `..`"
    if str(PurePosixPath(path)) != path:
        return f"is not in its plain form ({PurePosixPath(path)})"
    if len(path) > 240 or any(len(part) > 120 for part in PurePosixPath(path).parts):
        return "is too long"
    return None

"""What can be wrong with a data set, said so that the line can be found and mended."""

from pathlib import Path


class BadRecord(Exception):
    """One line of a data set that is no problem: which file, which line, which field, and why."""

    def __init__(self, file: Path, line: int, field: str, reason: str) -> None:
        super().__init__(f"{file}:{line}: {field}: {reason}")
        self.file, self.line, self.field, self.reason = file, line, field, reason


class BadField(ValueError):
    """A field that cannot be understood; the reader turns it into a `BadRecord` with file and line."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.reason = field, reason


class NoSuchProblems(Exception):
    """The place that was named holds no problems: it does not exist, is empty, or everything was filtered out."""

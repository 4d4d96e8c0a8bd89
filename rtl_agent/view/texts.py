"""What goes to the page, bounded: a record may hold texts of any length, in any number, at any depth."""

from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Any

MOST_LETTERS = 2_000_000  # of one text; a browser shows no more of it at a time
MOST_IN_ALL = 12_000_000  # of one answer
MOST_ITEMS = 5000
MOST_DEPTH = 30
NAME_LETTERS = 300


class Room:
    """How many letters an answer may still have."""

    def __init__(self, letters: int = MOST_IN_ALL) -> None:
        self._left = letters

    def bounded(self, value: Any, depth: int = 0) -> Any:
        """The same value from JSON's own types, with what is too long cut, and a word on how much."""
        if isinstance(value, Enum):
            value = value.value
        match value:
            case None | bool():
                return value
            case str():
                return self.cut(value)
            case int():
                return value if abs(value) < 2**63 else None
            case float():
                return value if isfinite(value) else None
        if depth > MOST_DEPTH:
            return "[nested too deeply to be shown]"
        match value:
            case Mapping():
                kept = list(value.items())[:MOST_ITEMS]
                return {str(key)[:NAME_LETTERS]: self.bounded(item, depth + 1) for key, item in kept}
            case list() | tuple():
                return [self.bounded(item, depth + 1) for item in value[:MOST_ITEMS]]
        return None

    def cut(self, text: str) -> str:
        most = min(MOST_LETTERS, max(self._left, 0))
        self._left -= min(len(text), most)
        left = len(text) - most
        return text if left <= 0 else f"{text[:most]}\n[{left:,} more characters are not shown]"

"""What a failed test's message tells: which signal, what was expected, what came.

The words are a harness author's, so this reads the usual forms ("count: expected 5, got 3", "got 3 instead of 5",
"assert 3 == 5", tuples with names) and says nothing where it finds none of them.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

_VALUE = r"(\([^()]{0,400}\)|\[[^\[\]]{0,400}\]|'[^']{0,200}'|[^\s,;()]{1,300})"
_GAP = r"[\s,;:.()]*(?:but\s+|and\s+|instead\s+)?"
_IS = r"(?:\s*[:=]\s*|\s+(?:to\s+be\s+|value\s+(?:of\s+)?|was\s+|is\s+|it\s+is\s+)?)"
_GOT = r"\b(?:got|actual|received|found|was|observed)"
_FORMS = (
    (re.compile(rf"\bexpected{_IS}{_VALUE}[^;\n]{{0,60}}?{_GAP}{_GOT}{_IS}{_VALUE}", re.IGNORECASE), (1, 2)),
    (re.compile(rf"{_GOT}{_IS}{_VALUE}{_GAP}(?:\bexpected|\binstead\s+of){_IS}{_VALUE}", re.IGNORECASE), (2, 1)),
    (re.compile(rf"\bassert\s+{_VALUE}\s*==\s*{_VALUE}"), (2, 1)),
    (re.compile(rf"(?<![=\w]){_VALUE}\s*!=\s*{_VALUE}"), (2, 1)),
)
_WORD = re.compile(r"[A-Za-z_]\w{0,199}")
_NAMED = re.compile(r"([A-Za-z_]\w*)=([^=].*)")
_NAMES = re.compile(r"\((\w+(?:\s*,\s*\w+)+)\)")
_MOST_LETTERS = 4000


@dataclass(frozen=True)
class Told:
    signal: str | None = None
    expected: str | None = None
    got: str | None = None


def read_message(message: str | None, names: Collection[str]) -> Told:
    """`names` are the signals of the top module, ports first; only one of them is taken for the failing signal."""
    text = (message or "")[:_MOST_LETTERS]
    expected, got, at = _values(text)
    if expected and got and (named := _NAMED.fullmatch(expected)):  # "expected full=1, got full=0"
        signal, expected = named[1], named[2]
        got = got.removeprefix(f"{signal}=")
        return Told(signal if signal in names else _signal(text, names, at), expected, got)
    if (several := _NAMES.search(text)) and expected and got:
        signals = [name.strip() for name in several[1].split(",")]
        wanted, came = _members(expected), _members(got)
        if len(signals) == len(wanted) == len(came):
            for signal, one, other in zip(signals, wanted, came, strict=True):
                if one != other:
                    return Told(signal if signal in names else None, one, other)
    return Told(_signal(text, names, at), expected, got)


def _values(text: str) -> tuple[str | None, str | None, int]:
    """The values, and where the words about them begin."""
    for form, (expected, got) in _FORMS:
        if found := form.search(text):
            return _plain(found[expected]), _plain(found[got]), found.start()
    return None, None, len(text)


def _plain(value: str) -> str:
    return value.strip("'\"").rstrip(".:")[:200]


def _members(value: str) -> list[str]:
    return [part.strip() for part in value.strip("()[]").split(",") if part.strip()] if value[:1] in "([" else []


def _signal(text: str, names: Collection[str], at: int) -> str | None:
    """The name nearest before the values; of a message without values, or without a name there, its first one."""
    found = [word for word in _WORD.finditer(text) if word[0] in names]
    before = [word[0] for word in found if word.end() <= at]
    return (before[-1] if before and at < len(text) else None) or next((word[0] for word in found), None)

"""Verilog text -> tokens, in linear time: what is left when comments and white space are gone.

Meant for text that a preprocessor has been over. Raw text can be read too, but tools differ about what is a comment
(Icarus ends a line comment at a lone carriage return, Verilator does not): compare what the tools make of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    COMMENT = "comment"
    STRING = "string"
    DIRECTIVE = "directive"  # or a macro: `name
    WORD = "word"  # names, keywords, $system names, \escaped names and parts of numbers
    OTHER = "other"  # one character


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str


# Whatever is left open goes on to the end of the text: each alternative takes what it has looked at.
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*(?:.*?\*/|.*))"
    r"|(?P<string>\"[^\"\\]*(?:\\.[^\"\\]*)*\"?)"
    r"|(?P<directive>`[A-Za-z_][\w$]*)"
    r"|(?P<word>\\[^\s]*|[\w$]+)"
    r"|(?P<other>[^\s])",
    re.DOTALL,
)


def tokens(text: str) -> Iterator[Token]:
    """Every token and comment of a text, in order."""
    for found in _TOKEN.finditer(text):
        assert found.lastgroup is not None
        yield Token(Kind(found.lastgroup), found.group())


def strings(found: Token) -> str:
    """What a string token says, without its quotes."""
    return found.text.strip('"')

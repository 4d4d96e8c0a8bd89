"""A conversation with a model: the messages, and of each of its turns the sampled tokens and what they say.

The student's datum and every teacher's prompt are made from this. What a student sampled is never encoded again for the
student; a teacher that reads other tokens gets the same parts, written by its own dialect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rtl_agent.envs.session import ToolResult, ToolSpec
from rtl_agent.prompts import Message


class PartKind(StrEnum):
    TEXT = "text"  # what is said to whoever asked
    THINKING = "thinking"
    ARGUMENTS = "arguments"  # all arguments of a call, as the JSON that was written
    ARGUMENT = "argument"  # the value of one argument that is a string, escapes undone


@dataclass(frozen=True)
class Part:
    """A stretch of a turn that says something, without the markup around it.

    `tokens` are those that lie within it, from and to (exclusive) in the turn: one that holds the end of a value and
    the quote behind it is not among them. The first begins at `start` in `text`. Of each of them, `ends` says where in
    `text` it ends: None within an escape. Arguments come twice, as the JSON that was written and as values, over the
    same tokens: whoever writes the call again takes the JSON where it can, and the values elsewhere.
    """

    kind: PartKind
    text: bytes
    tokens: tuple[int, int]
    ends: tuple[int | None, ...]
    start: int = 0
    gaps: tuple[tuple[int, int], ...] = ()  # stretches of the text that the tokens do not say in these bytes
    call: int = 0  # calls of a turn are counted from 0
    name: str = ""  # the called tool
    argument: str = ""  # of ARGUMENT: whose value it is
    escaped: bool = False  # tokens are not the bytes of the text, as it is written with escapes


@dataclass(frozen=True)
class WrittenTurn:
    """A turn in tokens, and where its parts are."""

    tokens: tuple[int, ...]
    parts: tuple[Part, ...]
    end: int | None = None  # the token that ends the turn and leaves the word to others; None: cut off, or a call's end


@dataclass(frozen=True)
class ModelTurn:
    """One turn of the model, with what it was shown after it."""

    written: WrittenTurn
    results: tuple[ToolResult, ...] = ()
    cut_off: bool = False


@dataclass(frozen=True)
class Conversation:
    """From the first message to the model's last turn."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    turns: tuple[ModelTurn, ...]
    prompt: tuple[int, ...]  # the messages as the model was asked with them
    shown: tuple[tuple[int, ...], ...]  # what was appended after each turn

    @property
    def tokens(self) -> tuple[int, ...]:
        """The whole sequence, as it was sampled."""
        found = list(self.prompt)
        for turn, shown in zip(self.turns, self.shown, strict=True):
            found += [*turn.written.tokens, *shown]
        return tuple(found)


def part_of(kind: PartKind, first: int, pieces: Sequence[bytes]) -> Part:
    """A part without escapes: tokens from `first` on, whose bytes are the text."""
    ends: list[int | None] = []
    length = 0
    for piece in pieces:
        length += len(piece)
        ends.append(length)
    return Part(kind, b"".join(pieces), (first, first + len(pieces)), tuple(ends))

"""Turns in ChatML, read and written: text, <think>, <tool_call>. What stands in a call is the model's own format."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Protocol

from rtl_agent.envs.conversation import Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.calls import PartsOfCall, said_in_order
from rtl_agent.envs.dialects.segments import Quoted, Segment, TokenBytes, TurnWriter


class Mark(StrEnum):
    THINK = "<think>"
    THOUGHT = "</think>"
    CALL = "<tool_call>"
    CALLED = "</tool_call>"


class Stretch(NamedTuple):
    """Tokens of a turn between two markers, from and to (exclusive)."""

    kind: PartKind  # ARGUMENTS for a call
    first: int
    last: int


class Nested(Protocol):
    """Follows the inside of a call, to know a marker that ends it from one that is in a string."""

    @property
    def in_string(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    def feed(self, piece: bytes) -> None: ...


class CallFormat(Protocol):
    """How a call is written between <tool_call> and </tool_call>."""

    between: bytes  # text and call

    def nested(self) -> Nested: ...

    def read(self, inside: Segment, number: int) -> Iterable[Part]:
        """Nothing for what is no call."""

    def pieces(self, call: PartsOfCall, *, cut_off: bool) -> Sequence[bytes | Quoted]:
        """`cut_off`: nothing comes behind it, so what it lacks is left open."""

    def is_finished(self, call: PartsOfCall) -> bool: ...


@dataclass(frozen=True)
class ChatMLTurns:
    bytes_of: TokenBytes
    marks: Mapping[int, Mark]
    end: int  # <|im_end|>
    ends: frozenset[int]  # and the others that end a turn of ChatML
    calls: CallFormat
    opened: bool = False  # the header of a turn ends within <think>
    thinks: bool = False  # without thinking a turn begins with an empty block

    def stretches(self, tokens: Sequence[int]) -> tuple[list[Stretch], int]:
        """The turn in pieces, and where it ends. A marker that means nothing where it stands is left within a piece."""
        length = next((at for at, token in enumerate(tokens) if token in self.ends), len(tokens))
        found: list[Stretch] = []
        kind, first, thought = (PartKind.THINKING if self.opened else PartKind.TEXT), 0, self.opened
        inside: Nested | None = None
        for at in range(length):
            mark = self.marks.get(tokens[at])
            became = kind
            if inside is not None:
                if mark is Mark.CALLED and not inside.in_string:
                    became, inside = PartKind.TEXT, None
                elif mark is Mark.CALL and inside.done:
                    found.append(Stretch(kind, first, at))
                    inside, first = self.calls.nested(), at + 1
                else:
                    inside.feed(self.bytes_of[tokens[at]])
            elif kind is PartKind.THINKING:
                became = PartKind.TEXT if mark is Mark.THOUGHT else kind
            elif mark is Mark.THINK:
                became, thought = PartKind.THINKING, True
            elif mark is Mark.CALL:
                became, inside = PartKind.ARGUMENTS, self.calls.nested()
            elif mark is Mark.THOUGHT and not thought:  # the prompt had opened it: all that was said was thought
                found, thought = [Stretch(PartKind.THINKING, 0, at)], True
                first = at + 1
            if became is not kind:
                found.append(Stretch(kind, first, at))
                kind, first = became, at + 1
        return [*found, Stretch(kind, first, length)], length

    def read(self, sampled: Sequence[int]) -> WrittenTurn:
        stretches, length = self.stretches(sampled)
        ended = length < len(sampled) and sampled[length] == self.end
        return WrittenTurn(tuple(sampled), tuple(self._parts(sampled, stretches)), length if ended else None)

    def _parts(self, sampled: Sequence[int], stretches: Sequence[Stretch]) -> Iterator[Part]:
        calls = 0
        for at, (kind, first, last) in enumerate(stretches):
            segment = self.bytes_of.segment(sampled, first, last)
            if kind is PartKind.ARGUMENTS:
                parts = list(self.calls.read(segment, calls))
                calls += bool(parts)
                yield from parts
                continue
            alone = len(stretches) == 1
            thinking, is_last = kind is PartKind.THINKING, at == len(stretches) - 1
            begin, end = segment.without_newlines(before=thinking or at > 0, behind=not is_last)
            if segment.data[begin:end].strip() or (alone and begin < end):
                yield segment.part(kind, begin, end)

    def write(self, parts: Sequence[Part], *, ended: bool, thinking: bool) -> WrittenTurn:
        writer = TurnWriter(self.bytes_of)
        said = said_in_order(parts, thinking=thinking)
        begun = bool(said) and isinstance(said[0], Part) and said[0].kind is PartKind.THINKING
        if not begun and (self.opened or self.thinks):
            self._think(writer, None, opened=self.opened, cut_off=False)
        before: Part | PartsOfCall | None = None
        for at, one in enumerate(said):
            cut_off = not ended and at == len(said) - 1
            if isinstance(one, Part) and one.kind is PartKind.THINKING:
                self._think(writer, one, opened=self.opened and at == 0, cut_off=cut_off)
                before = None
                continue
            if before is not None:
                writer.write(self._between(before, one))
            if isinstance(one, PartsOfCall):
                cut_off = cut_off and not self.calls.is_finished(one)
                self._mark(writer, Mark.CALL)
                writer.write(*self.calls.pieces(one, cut_off=cut_off), call=one.number, name=one.name)
                if not cut_off:
                    self._mark(writer, Mark.CALLED)
            else:
                writer.write(Quoted(one.kind, one.text))
            before = one
        return writer.turn(self.end if ended else None)

    def _think(self, writer: TurnWriter, thought: Part | None, *, opened: bool, cut_off: bool) -> None:
        """A block as Qwen3's template has it, empty without a thought."""
        if not opened:
            self._mark(writer, Mark.THINK)
        if thought is None:
            writer.write(b"\n" if opened else b"\n\n")
        else:
            writer.write(b"" if opened else b"\n")
            writer.write(Quoted(thought.kind, thought.text))
            writer.write(b"" if cut_off or thought.text.endswith(b"\n") else b"\n")
        if not cut_off:
            self._mark(writer, Mark.THOUGHT)
            writer.write(b"\n\n")

    def _mark(self, writer: TurnWriter, mark: Mark) -> None:
        """As a token, or as text in a vocabulary that has none for it."""
        if mark in self._token:
            writer.mark([self._token[mark]])
        else:
            writer.write(mark.encode())

    def _between(self, before: Part | PartsOfCall, one: Part | PartsOfCall) -> bytes:
        """Line breaks: no more of them than there have to be."""
        if isinstance(before, PartsOfCall):
            return b"\n"
        wanted = self.calls.between if isinstance(one, PartsOfCall) else b"\n\n"
        there = len(before.text) - len(before.text.rstrip(b"\n"))
        return wanted[min(there, len(wanted)) :]

    @cached_property
    def _token(self) -> Mapping[Mark, int]:
        return {mark: token for token, mark in self.marks.items()}

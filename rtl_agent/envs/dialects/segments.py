"""Tokens beside the bytes that they say: of what was sampled, and of what is written for another model to read."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.byte_vocabulary import ByteVocabulary, HuggingFaceTokenizer
from rtl_agent.envs.conversation import Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.dialect import PlainText
from rtl_agent.envs.dialects.json_spans import Unescaped

_CHARACTER = (
    rb"(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2})"
)
_CHARACTERS_OR_NONE = re.compile(rb"%b+|(?:(?!%b)[\x80-\xff])+" % (_CHARACTER, _CHARACTER))
# Between two ASCII characters no normaliser joins anything: stretches that stay, and those that it may change.
_STAYS_OR_MAY_CHANGE = re.compile(rb"[\x00-\x7f]+(?![\x80-\xff])|[\x00-\x7f]?[\x80-\xff]+")


@lru_cache(maxsize=16)
def byte_vocabulary(tokenizer: HuggingFaceTokenizer) -> ByteVocabulary:
    """Made once for each tokenizer: Qwen3's takes 1.2 s."""
    return ByteVocabulary.from_tokenizer(tokenizer)


class TokenBytes:
    """A tokenizer's tokens as bytes. Its markers have the bytes of their names, for where they say nothing special."""

    def __init__(self, tokenizer: Tokenizer, plain: PlainText) -> None:
        self.plain, self._tokenizer = plain, tokenizer

    @cached_property
    def _vocabulary(self) -> ByteVocabulary:
        return byte_vocabulary(self._tokenizer)

    @cached_property
    def _names(self) -> dict[int, bytes]:
        return {token: name.encode() for name, token in self._tokenizer.get_added_vocab().items()}

    def __getitem__(self, token: int) -> bytes:
        """Of an id that no token has: nothing."""
        return self._vocabulary[token] if token in self._vocabulary else self._names.get(token, b"")

    def segment(self, tokens: Sequence[int], first: int, last: int) -> "Segment":
        """Tokens of a turn, from and to (exclusive). What a marker among them says is a gap."""
        data = bytearray()
        positions: list[int | None] = [0]
        gaps = []
        for token in tokens[first:last]:
            data += self[token]
            if token not in self._vocabulary:
                gaps.append((positions[-1] or 0, len(data)))
            positions.append(len(data))
        return Segment(first, bytes(data), tuple(positions), tuple(gaps))

    def encoded(self, text: bytes, first: int) -> "tuple[list[int], Segment]":
        """A text in tokens, all of it as characters, and where in it they end, as the tokens from `first` on of a turn.

        What the tokenizer changes before it encodes, and what is not UTF-8, is a gap.
        """
        tokens = self.plain.encode(text.decode("utf-8", "replace"))
        segment = self.segment(tokens, 0, len(tokens))
        if segment.data == text:
            return tokens, Segment(first, text, segment.positions, segment.gaps)
        at, gaps = _correspondence(text, segment.data)
        return tokens, Segment(first, text, tuple(at[one or 0] for one in segment.positions), gaps)


@dataclass(frozen=True)
class Segment:
    """Neighbouring tokens, from `first` on of a turn, and what they say.

    `positions` are where in `data` the first begins and where each ends; None where data has no such place.
    """

    first: int
    data: bytes
    positions: tuple[int | None, ...]
    gaps: tuple[tuple[int, int], ...] = ()

    def part(
        self,
        kind: PartKind,
        begin: int = 0,
        end: int | None = None,
        *,
        said: Unescaped | None = None,
        call: int = 0,
        name: str = "",
        argument: str = "",
    ) -> Part:
        """What stands from `begin` to `end`; `said` is what it says, where it is written with escapes."""
        end = len(self.data) if end is None else end
        at = range(end - begin + 1) if said is None else said.at
        lowest, highest = bisect_left(self._known, begin), bisect_right(self._known, end)
        ends = [None if one is None else at[one - begin] for one in self.positions[lowest:highest]]
        while ends and ends[0] is None:
            del ends[0]
            lowest += 1
        while ends and ends[-1] is None:
            del ends[-1]
        return Part(
            kind,
            self.data[begin:end] if said is None else said.text,
            (self.first + lowest, self.first + lowest + max(0, len(ends) - 1)),
            tuple(ends[1:]),
            ends[0] or 0 if ends else 0,
            tuple(
                (_place(at, max(low, begin) - begin, -1), _place(at, min(high, end) - begin, 1))
                for low, high in self.gaps
                if low <= end and high >= begin
            ),
            call,
            name,
            argument,
            said is not None,
        )

    def without_newlines(self, *, before: bool, behind: bool) -> tuple[int, int]:
        """From and to (exclusive) in `data`, without the tokens at its sides that say nothing but line breaks."""
        edges = self._known
        low, high = 0, len(edges) - 1
        while before and low < high and not self.data[edges[low] : edges[low + 1]].strip(b"\r\n"):
            low += 1
        while behind and low < high and not self.data[edges[high - 1] : edges[high]].strip(b"\r\n"):
            high -= 1
        return edges[low], edges[high]

    @cached_property
    def _known(self) -> list[int]:
        """Positions for bisection: one that data has not is counted as the one before it."""
        known: list[int] = []
        for position in self.positions:
            known.append(position if position is not None else known[-1] if known else 0)
        return known


@dataclass(frozen=True)
class Quoted:
    """Bytes to be written that are a part: of what kind, and what they say."""

    kind: PartKind
    raw: bytes
    said: Unescaped | None = None  # where `raw` has escapes
    argument: str = ""


class TurnWriter:
    """Collects a turn: markup and text, each encoded apart from the other."""

    def __init__(self, bytes_of: TokenBytes) -> None:
        self._bytes_of = bytes_of
        self.tokens: list[int] = []
        self.parts: list[Part] = []

    def mark(self, tokens: Sequence[int]) -> None:
        self.tokens += tokens

    def write(self, *pieces: bytes | Quoted, call: int = 0, name: str = "") -> None:
        """Encoded together, as characters."""
        raw = [piece.raw if isinstance(piece, Quoted) else piece for piece in pieces]
        tokens, segment = self._bytes_of.encoded(b"".join(raw), len(self.tokens))
        self.tokens += tokens
        at = 0
        for piece, data in zip(pieces, raw, strict=True):
            if isinstance(piece, Quoted):
                part = segment.part(
                    piece.kind, at, at + len(data), said=piece.said, call=call, name=name, argument=piece.argument
                )
                self.parts += [part] if part.ends else []
            at += len(data)

    def turn(self, end: int | None = None) -> WrittenTurn:
        """What was written; `end` is the token that ends it."""
        if end is not None:
            self.tokens.append(end)
        return WrittenTurn(tuple(self.tokens), tuple(self.parts), None if end is None else len(self.tokens) - 1)


def _correspondence(text: bytes, written: bytes) -> tuple[list[int | None], tuple[tuple[int, int], ...]]:
    """Of every position in `written`, which one it is in `text`, and what of the text was not written as it is."""
    for form in (None, "NFC", "NFKC"):
        at: list[int | None] = []
        gaps: list[tuple[int, int]] = []
        made = bytearray()
        for found in (_STAYS_OR_MAY_CHANGE if form else _CHARACTERS_OR_NONE).finditer(text):
            characters = found[0].decode("utf-8", "replace")
            piece = (unicodedata.normalize(form, characters) if form else characters).encode()
            made += piece
            if piece == found[0]:
                at += range(found.start(), found.end())
            else:
                at += [found.start(), *[None] * (len(piece) - 1)]
                gaps.append(found.span())
        if made == written:
            return [*at, len(text)], tuple(gaps)
    return [None] * (len(written) + 1), ((0, len(text)),)


def _place(at: Sequence[int | None], position: int, step: int) -> int:
    """The nearest position that has a place, in the direction of `step`."""
    while 0 <= position < len(at):
        if (place := at[position]) is not None:
            return place
        position += step
    return 0 if step < 0 else max(place for place in at if place is not None)

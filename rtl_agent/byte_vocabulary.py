"""A tokenizer's vocabulary as bytes: what two tokenizers have in common is the text, and text is bytes.

Strings will not do: a token may hold half a character, and decoding replaces what it cannot show.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Protocol

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
# How GPT-2's byte-level tokenizers, and all that came after it, spell a byte in their vocabulary files.
_BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {chr(256 + at): byte for at, byte in enumerate(_OTHERS)}
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # SentencePiece's fallback
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # and its space


class HuggingFaceTokenizer(Protocol):
    """The part of a fast tokenizer that is needed here."""

    def get_vocab(self) -> Mapping[str, int]: ...
    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...
    @property
    def all_special_ids(self) -> Sequence[int]: ...
    @property
    def added_tokens_decoder(self) -> Mapping[int, object]: ...


class NotBytes(ValueError):
    """The vocabulary is spelled in a way that is not known here, so its tokens have no bytes."""


class ByteVocabulary:
    """Token ids and the bytes that they stand for. A marker such as <|im_end|> stands for none."""

    def __init__(self, of: Mapping[int, bytes], encode: "HuggingFaceTokenizer | None" = None) -> None:
        self._of, self._tokenizer = of, encode

    @staticmethod
    def from_tokenizer(tokenizer: HuggingFaceTokenizer) -> "ByteVocabulary":
        """Of a byte-level or a SentencePiece tokenizer, checked on a text with a bit of everything."""
        blank, added = blank_tokens(tokenizer), {int(token) for token in tokenizer.added_tokens_decoder}
        names = {token: name for name, token in tokenizer.get_vocab().items() if token not in added}
        for spelled in (_byte_level, _sentence_piece):
            found = {token: data for token, name in names.items() if (data := spelled(name)) is not None} | blank
            vocabulary = ByteVocabulary(found, tokenizer)
            if found and vocabulary._holds(_PROBE):
                return vocabulary
        raise NotBytes(
            "its tokens cannot be read as the bytes of a text: it is neither byte-level nor SentencePiece, or it "
            "changes a text before it encodes it (a space before it, lower case)"
        )

    def __getitem__(self, token: int) -> bytes:
        """The bytes of a token; KeyError for a marker."""
        return self._of[token]

    def __contains__(self, token: int) -> bool:
        return token in self._of

    def get(self, token: int) -> bytes | None:
        """The bytes of a token; None for a marker."""
        return self._of.get(token)

    def pieces(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token; ValueError names a marker among them."""
        try:
            return [self._of[token] for token in tokens]
        except KeyError as error:
            raise ValueError(f"token {error.args[0]} is a marker, not text") from None

    def encode(self, text: bytes) -> list[int] | None:
        """The tokens that the tokenizer makes of these bytes; None where it cannot: half a character, or a text that it
        changes before it encodes (Qwen3's brings accents into one form)."""
        assert self._tokenizer is not None
        try:
            tokens = self._tokenizer.encode(text.decode(), add_special_tokens=False)
        except UnicodeDecodeError:
            return None
        pieces = [self._of.get(token) for token in tokens]
        return list(tokens) if None not in pieces and b"".join(piece for piece in pieces if piece) == text else None

    @cached_property
    def token_of(self) -> Mapping[bytes, int]:
        """The token that stands for just these bytes; the first where several do."""
        found: dict[bytes, int] = {}
        for token in sorted(self._of):
            found.setdefault(self._of[token], token)
        return found

    def pretoken_ends(self, text: bytes) -> frozenset[int] | None:
        """Where the pieces end that the tokenizer cuts a text into before it merges anything; None if it does not tell.

        No token crosses such a place. Only of byte-level tokenizers, whose pieces have a character for each byte.
        """
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        splitter = getattr(backend, "pre_tokenizer", None)
        if splitter is None:
            return None
        try:
            pieces = splitter.pre_tokenize_str(text.decode())
        except UnicodeDecodeError:
            return None
        ends = tuple(accumulate(len(piece) for piece, _ in pieces))
        return frozenset(ends) if ends and ends[-1] == len(text) else None

    def _holds(self, text: str) -> bool:
        return self.encode(text.encode()) is not None


def blank_tokens(tokenizer: HuggingFaceTokenizer) -> dict[int, bytes]:
    """Added tokens that are rows of spaces or line breaks, as GPT-NeoX's and Gemma's vocabularies have them: all other
    added tokens are taken to be markers."""
    added = {int(token): one for token, one in tokenizer.added_tokens_decoder.items()}
    spelled = {
        token: str(one).replace(_SPACE, " ") for token, one in added.items() if not getattr(one, "special", True)
    }
    return {token: text.encode() for token, text in spelled.items() if text.isspace()}


# Letters, digits, white space of all kinds, and characters of two, three and four bytes, in the form that every
# tokenizer leaves alone.
_PROBE = "module a_b #(parameter N = 16)\n\t(input  [7:0] x);\r\n// Größe \N{CJK UNIFIED IDEOGRAPH-7DDA} \N{ROCKET}\n"


def _byte_level(name: str) -> bytes | None:
    try:
        return bytes(_BYTE_OF[character] for character in name)
    except KeyError:
        return None


def _sentence_piece(name: str) -> bytes | None:
    if byte := _BYTE_TOKEN.fullmatch(name):
        return bytes([int(byte[1], 16)])
    return name.replace(_SPACE, " ").encode()

"""When a sequence ends: on a token, or when its decoded text contains a given text."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from rtl_agent.backends.engine.contract import EngineError, SampleRequest


class TokenDecoder:
    def __init__(self, directory: Path) -> None:
        path = directory / "tokenizer.json"
        if not path.is_file():
            raise EngineError(f"Stopping on text needs a tokenizer, but {directory} has no tokenizer.json.")
        self._tokenizer = Tokenizer.from_file(str(path))

    def text(self, tokens: Sequence[int]) -> str:
        """Special tokens are text too: somebody may want to stop on one by its name."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))


_UNFINISHED = "\ufffd"


class StopTexts:
    """Decodes as tokens come, each about once. A piece that ends inside a character stays open until it is whole."""

    def __init__(self, decoder: TokenDecoder, texts: Sequence[str]) -> None:
        self._decoder = decoder
        self._texts = texts
        self._overlap = max(len(text) for text in texts) - 1
        self._before: list[int] = []  # the last closed piece: some decoders treat a first token differently
        self._open: list[int] = []
        self._tail = ""  # the end of the closed text, as much as a stop could reach back into

    def stops(self, token: int) -> bool:
        self._open.append(token)
        closed = self._decoder.text(self._before) if self._before else ""
        piece = self._decoder.text([*self._before, *self._open])[len(closed) :]
        window = self._tail + piece
        if any(text in window for text in self._texts):
            return True
        if not piece.endswith(_UNFINISHED):
            self._tail = window[-self._overlap :] if self._overlap else ""
            self._before, self._open = self._open, []
        return False


class StopConditions:
    def __init__(self, request: SampleRequest, decoder: TokenDecoder | None) -> None:
        self._tokens = request.stop_tokens
        texts = [text for text in request.stop_texts if text]
        self._watch = StopTexts(decoder, texts) if texts and decoder is not None else None

    def reached(self, token: int) -> bool:
        """The token that ends a sequence is part of it, as the Tinker API has it."""
        if token in self._tokens:
            return True
        return self._watch is not None and self._watch.stops(token)

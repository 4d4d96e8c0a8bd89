"""Tokens to text, for requests that stop on text."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from rtl_agent.backends.engine.contract import EngineError


class Decoder:
    def __init__(self, directory: Path) -> None:
        path = directory / "tokenizer.json"
        if not path.is_file():
            raise EngineError(f"Stopping on text needs a tokenizer, and {directory} has no tokenizer.json.")
        self._tokenizer = Tokenizer.from_file(str(path))

    def text(self, tokens: Sequence[int]) -> str:
        """Special tokens are text too: somebody may want to stop on one by its name."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))

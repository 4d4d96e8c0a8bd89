"""Text and tokens: a model's own tokenizer and chat template, and text that grows with each sampled token."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rtl_agent.backends.engine.contract import ModelInfo
from rtl_agent.backends.models import model_directory
from rtl_agent.backends.server.openai_api.requests import ChatMessage, too_long
from rtl_agent.web.errors import bad_request

UNFINISHED = "\ufffd"  # what a decoder makes of a character whose last bytes are still to come


class ModelTokenizer:
    """transformers' tokenizer of a model. Calls come from several threads, and it is not made for that."""

    def __init__(self, directory: Path) -> None:
        from transformers import AutoTokenizer  # seconds to import

        self._lock = threading.Lock()
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(
                str(directory), local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError) as error:
            raise bad_request(f"the model has no tokenizer that can be read ({error}): use the Tinker API") from error
        self._longest_token = max(map(len, self._tokenizer.get_vocab()), default=1)

    def encode(self, text: str, model: ModelInfo, *, add_special_tokens: bool) -> list[int]:
        # Before the tokenizer takes minutes to count them: no token has more characters than the longest one.
        if len(text) > model.context * self._longest_token:
            raise too_long(len(text) // self._longest_token, 1, model)
        with self._lock:
            tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return tokens

    def chat_prompt(self, messages: Sequence[ChatMessage], model: ModelInfo) -> list[int]:
        if not self._tokenizer.chat_template:
            raise bad_request(
                "this model has no chat template in its tokenizer_config.json: use /v1/completions", param="messages"
            )
        conversation = [{"role": message.role, "content": message.text} for message in messages]
        try:
            with self._lock:
                text = self._tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
        except Exception as error:  # a template may refuse an order of roles, by whatever exception
            raise bad_request(f"the model's chat template refuses these messages: {error}", param="messages") from error
        return self.encode(str(text), model, add_special_tokens=False)

    def decode(self, tokens: Sequence[int]) -> str:
        """Special tokens are text too. No clean-up of spaces before punctuation: it would change code."""
        with self._lock:
            return str(
                self._tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
            )


@lru_cache(maxsize=16)
def _tokenizer(directory: Path) -> ModelTokenizer:
    return ModelTokenizer(directory)


_LOADING = threading.Lock()


def tokenizer_of(model: ModelInfo) -> ModelTokenizer:
    """One thread at a time: of several that import transformers at once, all but the first get an ImportError."""
    with _LOADING:
        return _tokenizer(model_directory(model.name))


def cut(text: str, stops: Sequence[str]) -> str:
    """Up to the first stop, which is not part of an answer."""
    found = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(found)] if found else text


class TextStream:
    """The text of tokens as they come, without decoding all of them each time.

    What `add` returned, joined, never runs ahead of the final text: the last bytes of a character and the beginning of
    a possible stop are held back.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], stops: Sequence[str] = ()) -> None:
        self._decode = decode
        self._stops = stops
        self._tokens: list[int] = []
        # Decoded from here, since some decoders treat a first token differently; text up to `_read` is known.
        self._start = self._read = 0
        self._text = ""
        self._open = 0  # characters of a piece that may still change
        self._sent = 0

    @property
    def length(self) -> int:
        """Of the text so far, in characters."""
        return len(self._text) + self._open

    def add(self, token: int) -> str:
        """The text that can be sent now; often a word, sometimes nothing."""
        self._tokens.append(token)
        known = self._decode(self._tokens[self._start : self._read]) if self._read else ""
        piece = self._decode(self._tokens[self._start :])
        if piece.endswith(UNFINISHED):
            self._open = max(len(piece) - len(known), 0)
            return ""
        self._text += piece[len(known) :]
        self._open = 0
        self._start, self._read = self._read, len(self._tokens)
        ready = len(cut(self._text, self._stops)) - self._held_back()
        sent, self._sent = self._sent, max(ready, self._sent)
        return self._text[sent : self._sent]

    def finish(self, text: str) -> str:
        """What is missing of the final text."""
        return text[self._sent :]

    def _held_back(self) -> int:
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        for size in range(min(longest, len(self._text)), 0, -1):
            if any(stop.startswith(self._text[-size:]) for stop in self._stops):
                return size
        return 0

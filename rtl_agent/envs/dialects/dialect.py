"""What a dialect is: how a model is told its tools, how its calls are read, and how it is shown the results."""

import re
from collections.abc import Sequence
from typing import Protocol

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.byte_vocabulary import blank_tokens
from rtl_agent.envs.conversation import Part, WrittenTurn
from rtl_agent.envs.session import ToolResult, ToolSpec, Turn
from rtl_agent.prompts import Message

CALLS_PER_TURN = 16
CUT_OFF = "your turn was cut off at its limit of tokens before it called a tool or ended; say less before you call"


_IDS = 2**31  # within it, ids that no token has decode to nothing; beyond it `tokenizers` raises OverflowError


def sound(text: str) -> str:
    """Without halves of surrogate pairs, which JSON can write and no tokenizer, file or terminal takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


class PlainText:
    """Encodes what a command printed. Markup in it (`<|im_end|>`, `</tool_response>`) becomes its characters.

    `split_special_tokens` alone is not enough: Qwen3's `<tool_call>`, `</tool_response>` and `<think>` are added tokens
    that are not special, and stay whole. Cut behind its first character none is found, and the text decodes the same.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        blank = blank_tokens(tokenizer)
        # By the first character: 17 kB are searched for Llama 3's 256 markers in 0.1 ms, one by one in 36 ms.
        rests: dict[str, list[str]] = {}
        for name, token in tokenizer.get_added_vocab().items():
            if token not in blank and len(name) > 1:
                rests.setdefault(name[0], []).append(re.escape(name[1:]))
        inside = "|".join(f"(?<={re.escape(first)})(?={'|'.join(rest)})" for first, rest in rests.items())
        self._cuts = re.compile(inside or r"(?!)")

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = []
        for piece in self._cuts.split(sound(text)):
            tokens += self._tokenizer.encode(piece, add_special_tokens=False, split_special_tokens=True)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """Models have more rows than their tokenizers have tokens: such ids are left out."""
        known = [int(token) for token in tokens if 0 <= token < _IDS]
        return sound(str(self._tokenizer.decode(known, clean_up_tokenization_spaces=False)))


class Dialect(Protocol):
    """A way of calling tools, bound to a tokenizer.

    The tokens of an episode are `first`, what was sampled, `follow`, what was sampled, and so on, joined and never
    encoded again. Text from outside (messages, results) never becomes a control token.
    """

    @property
    def name(self) -> str: ...

    def first(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tinker.ModelInput:
        """System and user messages, the tools told, and the header of the model's turn."""

    def stop(self) -> StopCondition:
        """Where sampling a turn ends."""

    def parse(self, tokens: Sequence[int]) -> Turn:
        """What was sampled, whatever it is: a turn that makes no sense is one with a fault, never an exception."""

    def follow(self, sampled: Sequence[int], results: Sequence[ToolResult]) -> list[int]:
        """What to append after the sampled tokens: the end of the turn where it is missing, the results (a fault is one
        of them), and the header of the next turn."""

    def read(self, sampled: Sequence[int]) -> WrittenTurn:
        """Where in a sampled turn its parts are. Never an exception: tokens that say nothing are in no part."""

    def write(self, parts: Sequence[Part], *, ended: bool, thinking: bool) -> WrittenTurn:
        """The parts that another model said, as a turn of this one, which `first` or `follow` stand before.

        Text is encoded apart from the markup around it. A part that this dialect has no place for, or cannot write with
        the same bytes, is not among those of the result. Without `thinking`, thinking is left out.
        """

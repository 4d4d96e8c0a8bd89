"""What a dialect is: how a model is told its tools, how its calls are read, and how it is shown the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import tinker
from tinker_cookbook.completers import StopCondition

from rtl_agent.prompts import Message

CALLS_PER_TURN = 16
CUT_OFF = "your turn was cut off at its limit of tokens before it called a tool or ended; say less before you call"


@dataclass(frozen=True)
class ToolSpec:
    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of the arguments


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: Mapping[str, Any]  # as the model wrote them: whoever runs the tool checks names and types


@dataclass(frozen=True)
class ToolResult:
    name: str  # "" if no tool said it: a fault, or words of the environment, which the model is told as the user's
    text: str  # what the model is shown


@dataclass(frozen=True)
class Turn:
    """What a model said in one turn. Neither calls nor a fault: a plain answer."""

    text: str
    thinking: str
    calls: tuple[ToolCall, ...]
    fault: str = ""  # what was wrong with a call that could not be read, worded for the model


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

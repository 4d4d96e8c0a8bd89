"""The dialects under test, each on its model's own vocabulary, and how a model writes a turn in it."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.dialects.registry import DIALECTS
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import ToolSpec
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.prompts import Message
from tests.envs.vocabularies import gpt_oss, qwen3

TOOLS = (
    ToolSpec(
        "execute_bash",
        "Runs a command.",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "What to run."},
                "seconds": {"type": "integer"},
            },
            "required": ["command"],
        },
    ),
    ToolSpec("submit", "Ends the episode.", {"type": "object", "properties": {}}),
)
ASKED = (Message("system", "Be exact."), Message("user", "Invert a."))


@dataclass(frozen=True)
class Writing:
    """How a turn is written: thinking, prose, the bodies of calls by their tool's name; and its end."""

    turn: Callable[[str, str, Sequence[tuple[str, str]]], str]
    body: Callable[[str, str], str]  # tool, arguments as JSON -> what stands in the call
    tokenizer: Callable[[], Tokenizer]


def _qwen_turn(thinking: str, text: str, bodies: Sequence[tuple[str, str]]) -> str:
    thought = f"<think>\n{thinking}\n</think>\n\n" if thinking else ""
    calls = "\n".join(f"<tool_call>\n{body}\n</tool_call>" for _, body in bodies)
    return f"{thought}{text}\n{calls}<|im_end|>"


def _harmony_turn(thinking: str, text: str, bodies: Sequence[tuple[str, str]]) -> str:
    parts = [f"<|channel|>analysis<|message|>{thinking}<|end|>"] if thinking else []
    if not bodies:
        parts.append(f"<|channel|>final<|message|>{text}<|return|>")
    elif text:
        parts.append(f"<|channel|>commentary<|message|>{text}<|end|>")
    for name, body in bodies:
        parts.append(f" to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>{body}<|call|>")
    return "<|start|>assistant".join(parts)


def _qwen_body(name: str, arguments: str) -> str:
    return f'{{"name": {json.dumps(name)}, "args": {arguments}}}'


def _xml_body(name: str, arguments: str) -> str:
    """What is no JSON object stands there as it is."""
    try:
        values = json.loads(arguments).items()
    except (json.JSONDecodeError, AttributeError, RecursionError):
        return arguments
    written = [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in values]
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in written)
    return f"<function={name}>\n{parameters}</function>".encode("utf-8", "replace").decode()


def _opened_turn(thinking: str, text: str, bodies: Sequence[tuple[str, str]]) -> str:
    """Of a model that is asked with <think> already written."""
    return f"{thinking}\n</think>\n\n{_qwen_turn('', text, bodies)}"


def _embedded() -> Tokenizer:
    return tokenizer_for("rtl-agent/student")


_QWEN = Writing(_qwen_turn, _qwen_body, qwen3)
_HARMONY = Writing(_harmony_turn, lambda _, arguments: arguments, gpt_oss)
_WRITING = {name: _HARMONY if name.startswith("gpt_oss") else _QWEN for name in DIALECTS} | {
    "rtl_agent": Writing(_qwen_turn, _qwen_body, _embedded),
    "qwen3_coder": Writing(_qwen_turn, _xml_body, qwen3),
    "qwen3_5": Writing(_opened_turn, _xml_body, qwen3),  # its own vocabulary cannot be had; the markers are these
    "qwen3_5_disable_thinking": Writing(_qwen_turn, _xml_body, qwen3),
}
JSON_DIALECTS = tuple(name for name in DIALECTS if _WRITING[name].body is not _xml_body)


class Spoken:
    """A dialect with a pen."""

    def __init__(self, renderer_name: str) -> None:
        self.writing = _WRITING[renderer_name]
        self.tokenizer = self.writing.tokenizer()
        self.dialect: Dialect = DIALECTS[renderer_name](renderer_for(renderer_name, self.tokenizer))
        self.added = set(self.tokenizer.added_tokens_decoder)
        self.size = len(self.tokenizer)  # 0.1 s for Qwen3's

    def turn(self, *calls: tuple[str, Mapping[str, Any]], text: str = "", thinking: str = "") -> list[int]:
        # A model that writes <|call|> into a string writes its characters, not the control token.
        written = [(name, json.dumps(arguments).replace("<|", "<\\u007c")) for name, arguments in calls]
        bodies = [(name, self.writing.body(name, arguments)) for name, arguments in written]
        return self.encode(self.writing.turn(thinking, text, bodies))

    def turn_of(self, *arguments: str) -> list[int]:
        """Calls of execute_bash whose arguments are this text, JSON or not."""
        bodies = [("execute_bash", self.writing.body("execute_bash", text)) for text in arguments]
        return self.encode(self.writing.turn("", "", bodies))

    def encode(self, markup: str) -> list[int]:
        return list(self.tokenizer.encode(markup, add_special_tokens=False))

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(tokens)))

    def markup(self, tokens: Sequence[int]) -> Counter[int]:
        """The tokens that no text may write, and how many there are of each."""
        return Counter(token for token in tokens if token in self.added)


@cache
def spoken(renderer_name: str) -> Spoken:
    return Spoken(renderer_name)

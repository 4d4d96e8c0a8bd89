"""One message of a conversation, as every chat format knows it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


def as_dicts(messages: Iterable[Message]) -> list[dict[str, str]]:
    """For renderers and chat templates."""
    return [{"role": message.role, "content": message.content} for message in messages]

"""Problem -> messages; the system messages are text files."""

from rtl_agent.prompts.messages import (
    Message,
    PromptTooLong,
    agentic_messages,
    as_dicts,
    estimate_tokens,
    messages,
    refine_message,
)
from rtl_agent.prompts.system_message import UnknownSystemMessage, system_names

__all__ = [
    "Message",
    "PromptTooLong",
    "UnknownSystemMessage",
    "agentic_messages",
    "as_dicts",
    "estimate_tokens",
    "messages",
    "refine_message",
    "system_names",
]

"""Problem -> messages; the system messages are text files."""

from rtl_agent.prompts.messages import (
    Message,
    PromptTooLong,
    agentic_messages,
    as_dicts,
    estimate_tokens,
    messages,
    reference_reply,
    refine_message,
    with_feedback,
    with_reference,
)
from rtl_agent.prompts.system_message import UnknownSystemMessage, stands_alone, system_names

__all__ = [
    "Message",
    "PromptTooLong",
    "UnknownSystemMessage",
    "agentic_messages",
    "as_dicts",
    "estimate_tokens",
    "messages",
    "reference_reply",
    "refine_message",
    "stands_alone",
    "system_names",
    "with_feedback",
    "with_reference",
]

"""Problem -> messages; the system messages are text files."""

from rtl_agent.prompts.agentic_messages import agentic_messages
from rtl_agent.prompts.message import Message, as_dicts
from rtl_agent.prompts.messages import PromptTooLong, estimate_tokens, messages
from rtl_agent.prompts.refine_message import refine_message
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

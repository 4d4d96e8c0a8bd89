"""Tool-call formats: how a model is told its tools, how its calls are read, and how it is shown the results."""

from rtl_agent.envs.dialects.dialect import Dialect, ToolCall, ToolResult, ToolSpec, Turn
from rtl_agent.envs.dialects.registry import DIALECTS, UnknownDialect, dialect_for

__all__ = ["DIALECTS", "Dialect", "ToolCall", "ToolResult", "ToolSpec", "Turn", "UnknownDialect", "dialect_for"]

"""A problem as a workspace with a shell: sessions without tokens, and environments of tinker-cookbook over them."""

from rtl_agent.envs.agentic.builder import AgenticGroupBuilder
from rtl_agent.envs.agentic.config import AgenticConfig, CommandLimits
from rtl_agent.envs.agentic.end_reason import EndReason
from rtl_agent.envs.agentic.env import AgenticEnv
from rtl_agent.envs.agentic.session import AgenticSession, Reply
from rtl_agent.envs.agentic.workspace import Workshop, Workspace, workshop
from rtl_agent.envs.level import Level

__all__ = [
    "AgenticConfig",
    "AgenticEnv",
    "AgenticGroupBuilder",
    "AgenticSession",
    "CommandLimits",
    "EndReason",
    "Level",
    "Reply",
    "Workshop",
    "Workspace",
    "workshop",
]

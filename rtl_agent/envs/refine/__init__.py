"""A question, an answer, and rounds in which the model sees what was wrong with it and answers again."""

from rtl_agent.envs.refine.builder import RefineGroupBuilder
from rtl_agent.envs.refine.env import RefineEnv
from rtl_agent.envs.refine.session import Counted, RefineConfig, RefineEnd, RefineReply, RefineSession

__all__ = [
    "Counted",
    "RefineConfig",
    "RefineEnd",
    "RefineEnv",
    "RefineGroupBuilder",
    "RefineReply",
    "RefineSession",
]

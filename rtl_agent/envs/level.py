"""How much a model may know while it works; recorded with every episode, as results of two levels do not compare."""

from rtl_agent.envs.episode_config import Level

__all__ = ["Level"]

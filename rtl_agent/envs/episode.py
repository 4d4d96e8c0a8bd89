"""An episode's record is `rtl_agent.runs.episode`; here is what an episode can end with instead."""

from rtl_agent.runs.episode import Episode, EpisodeTurn

__all__ = ["Episode", "EpisodeFailed", "EpisodeTurn"]


class EpisodeFailed(Exception):
    """No fault of the model: the rollout leaves its group and is counted. It is never a reward of 0."""

"""What plays an episode of a problem with a model, whatever the environment and however the model is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rtl_agent.runs.episode import Episode
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message


class Watcher(Protocol):
    """Is told of an episode while it is played."""

    def asked(self, messages: tuple[Message, ...]) -> None: ...

    def said(self, text: str) -> None: ...

    def saw(self, text: str) -> None: ...

    def over(self, text: str) -> None:
        """What the last turn's calls gave, "" if nothing: no model is shown it any more."""


class Unwatched:
    def asked(self, messages: tuple[Message, ...]) -> None: ...

    def said(self, text: str) -> None: ...

    def saw(self, text: str) -> None: ...

    def over(self, text: str) -> None: ...


@dataclass(frozen=True)
class Played:
    """`usage`: tokens of all prompts and of all answers, where somebody counted.

    `not_sent`: parameters of sampling that an endpoint refused, and did without.
    """

    episode: Episode
    usage: Mapping[str, int] = field(default_factory=dict)
    not_sent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled."""

    temperature: float
    max_tokens: int  # of one turn


class Player(Protocol):
    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        """One episode. EpisodeFailed where it came to no end that can be judged."""
        ...

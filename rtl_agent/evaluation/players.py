"""What plays an episode of a problem with a model, whatever the environment and however the model is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import tinker

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.prompt import Prompt
from rtl_agent.envs.rollout import Policy, SeededCompleter, play_episode
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.evaluation.models import TokenModel
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message
from rtl_agent.runs.episode import Episode


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


class Player(Protocol):
    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        """One episode. EpisodeFailed where it came to no end that can be judged."""
        ...


@dataclass(frozen=True)
class TokenPlayer:
    """Over a sampling client, by the loop that training uses."""

    model: TokenModel
    episode: EpisodeConfig
    temperature: float
    prompts: dict[str, tuple[ProblemGroupBuilder, Prompt]] = field(default_factory=dict, repr=False)

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        model = self.model
        builder = ProblemGroupBuilder(
            problem, 1, model.base, model.renderer, self.episode, model.context, rendered=self.prompts
        )
        policy = Policy(model.client, self.episode.max_tokens, self.temperature, seed)
        try:
            (env,) = await builder.make_envs()
            watcher.asked(env.session.messages)
            played = await play_episode(env, SeededCompleter(policy, seed), _InText(model.base, watcher))
        except tinker.APIConnectionError:
            raise
        except tinker.TinkerError as error:
            raise EpisodeFailed(f"the server refused: {error}") from error
        finally:
            await builder.cleanup()
        turns = played.episode.turns
        watcher.over(turns[-1].observation if turns else "")
        return Played(played.episode, played.usage)


@dataclass(frozen=True)
class _InText:
    """Tells a watcher what was sampled and shown as text, control tokens included: they are part of what was said."""

    model: str  # names the tokenizer
    watcher: Watcher

    def sampled(self, tokens: list[int]) -> None:
        self.watcher.said(self._text(tokens))

    def shown(self, tokens: list[int]) -> None:
        self.watcher.saw(self._text(tokens))

    def _text(self, tokens: list[int]) -> str:
        return str(tokenizer_for(self.model).decode(tokens))

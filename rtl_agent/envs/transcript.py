"""The tokens of an episode: the prompt, then turn by turn what was sampled and what was appended after it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from rtl_agent.envs.episode import EpisodeTurn


@dataclass(frozen=True)
class Transcript:
    """Only ever extended at its end, and nothing in it is encoded again: so an episode is one training datum."""

    prompt: tuple[int, ...] = ()
    turns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()  # of each: sampled, appended

    def then(self, sampled: Sequence[int], appended: Sequence[int] = ()) -> "Transcript":
        return replace(self, turns=(*self.turns, (tuple(sampled), tuple(appended))))

    @property
    def tokens(self) -> list[int]:
        """All of them, joined: what the model is asked with next."""
        return [*self.prompt, *chain.from_iterable(chain.from_iterable(self.turns))]

    @property
    def sampled(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(sampled for sampled, _ in self.turns))

    def written_into(self, turns: Sequence[EpisodeTurn]) -> tuple[EpisodeTurn, ...]:
        """Each turn with its tokens; a model that was asked for text has none, and its turns stay as they are."""
        written = [
            replace(turn, sampled_tokens=sampled, observation_tokens=appended)
            for turn, (sampled, appended) in zip(turns, self.turns, strict=False)
        ]
        return (*written, *turns[len(written) :])

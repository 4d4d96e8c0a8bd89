"""One episode as it is kept: what was asked, the tokens as they were sampled, and how the answer was judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rtl_agent.prompts import Message


class EpisodeFailed(Exception):
    """No fault of the model: the rollout leaves its group and is counted. It is never a reward of 0."""


@dataclass(frozen=True)
class EpisodeTurn:
    """What the model said in one of several turns, what it called, and what it was shown then."""

    text: str
    thinking: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()  # name and arguments of each
    fault: str = ""  # what was wrong with a call that could not be read
    observation: str = ""
    sampled_tokens: tuple[int, ...] = ()  # empty where the model was asked for text
    observation_tokens: tuple[int, ...] = ()  # what was appended after them: the conversation is all of these joined
    sampled_logprobs: tuple[float, ...] = ()
    reward: float | None = None  # where this turn alone was graded

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "EpisodeTurn":
        known = dict(data)
        for name in ("calls", "sampled_tokens", "observation_tokens", "sampled_logprobs"):
            known[name] = tuple(data.get(name, ()))
        return EpisodeTurn(**known)


@dataclass(frozen=True)
class Episode:
    """A rollout's record. Tokens are the model's own, never decoded and encoded again."""

    problem_id: str
    family: str
    messages: tuple[Message, ...]
    prompt_tokens: tuple[int, ...]
    sampled_tokens: tuple[int, ...]  # of all turns, one after the other
    text: str  # what was graded, the answer without thinking and control tokens; of several turns the last one's
    stop_reason: str  # "stop", or "length" when the answer was cut off
    grade: Mapping[str, Any]  # Grade.to_json()
    reward: float
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()  # why it did not pass, then what the tools said, a line each
    sampled_logprobs: tuple[float, ...] = ()  # known to who sampled, not to the environment
    turns: tuple[EpisodeTurn, ...] = ()  # of several turns; empty for a single answer
    level: str = ""  # how much an agent could know; "open" is never a score
    end_reason: str = ""  # why an agent's episode was over
    files: Mapping[str, str] = field(default_factory=dict)  # what an agent left in its workspace to be graded

    @property
    def cut_off(self) -> bool:
        return self.stop_reason == "length"

    @property
    def is_scored(self) -> bool:
        """Whether its reward and its grade may be counted among others: not if the model had the tests before it."""
        return self.level != "open"

    def with_logprobs(self, logprobs: Sequence[float]) -> "Episode":
        """Those of all turns, one after the other."""
        if len(logprobs) != len(self.sampled_tokens):
            raise ValueError(f"{len(logprobs)} logprobs for {len(self.sampled_tokens)} sampled tokens")
        turns, start = [], 0
        for turn in self.turns:
            end = start + len(turn.sampled_tokens)
            turns.append(replace(turn, sampled_logprobs=tuple(logprobs[start:end])))
            start = end
        return replace(self, sampled_logprobs=tuple(logprobs), turns=tuple(turns))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Episode":
        known = dict(data)
        known["messages"] = tuple(Message(**message) for message in data["messages"])
        known["turns"] = tuple(EpisodeTurn.from_json(turn) for turn in data.get("turns", ()))
        for name in ("prompt_tokens", "sampled_tokens", "sampled_logprobs", "diagnostics"):
            known[name] = tuple(data[name])
        return Episode(**known)

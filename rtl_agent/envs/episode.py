"""One episode as it is kept: what was asked, the tokens as they were sampled, and how the answer was judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rtl_agent.prompts import Message


class EpisodeFailed(Exception):
    """No fault of the model: the rollout leaves its group and is counted. It is never a reward of 0."""


@dataclass(frozen=True)
class Episode:
    """A rollout's record. Tokens are the model's own, never decoded and encoded again."""

    problem_id: str
    family: str
    messages: tuple[Message, ...]
    prompt_tokens: tuple[int, ...]
    sampled_tokens: tuple[int, ...]
    text: str  # what was graded: the answer without thinking and control tokens
    stop_reason: str  # "stop", or "length" when the answer was cut off
    grade: Mapping[str, Any]  # Grade.to_json()
    reward: float
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()  # why it did not pass, then what the tools said, a line each
    sampled_logprobs: tuple[float, ...] = ()  # known to who sampled, not to the environment

    @property
    def cut_off(self) -> bool:
        return self.stop_reason == "length"

    def with_logprobs(self, logprobs: Sequence[float]) -> "Episode":
        if len(logprobs) != len(self.sampled_tokens):
            raise ValueError(f"{len(logprobs)} logprobs for {len(self.sampled_tokens)} sampled tokens")
        return replace(self, sampled_logprobs=tuple(logprobs))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Episode":
        known = dict(data)
        known["messages"] = tuple(Message(**message) for message in data["messages"])
        for name in ("prompt_tokens", "sampled_tokens", "sampled_logprobs", "diagnostics"):
            known[name] = tuple(data[name])
        return Episode(**known)

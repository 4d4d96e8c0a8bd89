"""An episode without tokens: a model's turns in, what it is shown out, and a grade at the end.

Every environment is a kind of session. Whoever plays it turns tokens, or the text of an endpoint, into a `Turn`, and
shows the model the `Reply`; the rules are in the session alone. A package adds a kind with an entry point of the group
`rtl_agent.environments`, which names an `EnvironmentKind`; `rtl_agent.envs.checks` holds it against the contract.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rtl_agent.envs.episode import NO_TOKENS, Transcript, diagnostics_of, end_metrics, grade_metrics
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.grading import Grade, Grader
from rtl_agent.problems import Kind, Problem
from rtl_agent.prompts import Message
from rtl_agent.runs.episode import Episode, EpisodeTurn


@dataclass(frozen=True)
class ToolSpec:
    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of the arguments


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: Mapping[str, Any]  # as the model wrote them: whoever runs the tool checks names and types


@dataclass(frozen=True)
class ToolResult:
    name: str  # "" if no tool said it: a fault, or words of the environment, which the model is told as the user's
    text: str  # what the model is shown


@dataclass(frozen=True)
class Turn:
    """What a model said in one turn. Neither calls nor a fault: a plain answer."""

    text: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    fault: str = ""  # what was wrong with a call that could not be read, worded for the model


@dataclass(frozen=True)
class Reply:
    """What the model is shown; at the end also why it is over, and what it earned."""

    results: tuple[ToolResult, ...] = ()
    ended: StrEnum | None = None
    grade: Grade | None = None
    reward: float = 0.0  # 0 at level `open`, whatever the grade: it is no score


class Session(ABC):
    """One episode. `take` its turns until a reply says `ended`, and `close` it whatever happens."""

    def __init__(self, problem: Problem, config: EpisodeConfig, messages: Sequence[Message]) -> None:
        """`config` says which level is played; `messages` are those that the model was asked with."""
        self.problem, self.config, self.messages = problem, config, tuple(messages)
        self.turns: list[EpisodeTurn] = []
        self._end: tuple[StrEnum, Grade] | None = None

    @property
    def level(self) -> Level:
        return Level(self.config.level)

    @abstractmethod
    async def take(self, turn: Turn, *, cut_off: bool = False, full: bool = False) -> Reply:
        """One turn. `cut_off`: it had no end; `full`: the conversation is too long for another turn."""

    @abstractmethod
    async def out_of_tokens(self) -> Reply:
        """Over, as what was to be shown leaves no room for another turn."""

    async def close(self) -> None:  # noqa: B027  # most sessions hold nothing
        """Gives back what the session holds. May be called at any time, and again."""

    # what is kept of an episode that is over

    @property
    def ended(self) -> StrEnum:
        return self._ending[0]

    @property
    def grade(self) -> Grade:
        """The one that counts."""
        return self._ending[1]

    @property
    def reward(self) -> float:
        """0 at level `open`, whatever the grade: it is no score, and nothing must learn from it."""
        return self.grade.reward.total if self.level.is_scored else 0.0

    @property
    def text(self) -> str:
        """What was graded, or the last words of an agent."""
        return self.turns[-1].text if self.turns else ""

    @property
    def files(self) -> Mapping[str, str]:
        """What was left in a workspace to be graded."""
        return {}

    @property
    def metrics(self) -> dict[str, float | int]:
        """At level `open` the grade's numbers are called `open/...`, so that no mean of scores takes them in."""
        graded = grade_metrics(self.grade)
        return {
            **(graded if self.level.is_scored else {f"open/{name}": value for name, value in graded.items()}),
            **end_metrics(self.ended),
            f"level/{self.level.value}": 1.0,
        }

    @property
    def logs(self) -> dict[str, str | int | float]:
        """For the cookbook's log of rollouts."""
        return {"ended": self.ended.value}

    def episode(
        self,
        *,
        transcript: Transcript = NO_TOKENS,
        stop_reason: str = "stop",
        messages: Sequence[Message] | None = None,
    ) -> Episode:
        """The record. `messages` are the first ones where they were not the session's own, as tools were told there."""
        ended, grade = self._ending
        return Episode(
            problem_id=self.problem.id,
            family=self.problem.family,
            messages=tuple(self.messages if messages is None else messages),
            prompt_tokens=transcript.prompt,
            sampled_tokens=transcript.sampled,
            text=self.text,
            stop_reason=stop_reason,
            grade=grade,
            reward=self.reward,
            reward_parts=dict(grade.reward.parts) if self.level.is_scored else {},
            diagnostics=diagnostics_of(grade),
            turns=transcript.written_into(self.turns),
            level=self.level.value,
            end_reason=ended.value,
            files=dict(self.files),
            config=self.config.to_json(),
            category=self.problem.category,
            difficulty=self.problem.difficulty,
        )

    def _over(self, reason: StrEnum, grade: Grade, results: Sequence[ToolResult] = ()) -> Reply:
        """The last reply. From here on there is a record."""
        self._end = reason, grade
        return Reply(tuple(results), reason, grade, self.reward)

    def _show(self, results: Sequence[ToolResult]) -> None:
        """Keeps what the model is shown after its last turn."""
        if self.turns:
            shown = "\n\n".join(result.text for result in results)
            self.turns[-1] = replace(self.turns[-1], observation=shown)

    def _ensure_open(self) -> None:
        if self._end is not None:
            raise RuntimeError(f"the episode of {self.problem.id} is over")

    @property
    def _ending(self) -> tuple[StrEnum, Grade]:
        if self._end is None:
            raise RuntimeError(f"the episode of {self.problem.id} has not ended yet")
        return self._end


CountTokens = Callable[[str], int]


class EnvironmentKind(ABC):
    """One kind of environment: what a model is asked, which tools it has, and the session that takes its turns."""

    levels: tuple[Level, ...]  # those that it can be played at; the first is the usual one
    several_turns: bool = True
    problem_kinds: tuple[Kind, ...] = (Kind.SINGLE_SHOT,)

    @abstractmethod
    def messages(
        self,
        problem: Problem,
        config: EpisodeConfig,
        *,
        max_prompt_tokens: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> list[Message]:
        """What a model is asked first, cut to this length if it can be; PromptTooLong where that is known not to do."""

    def tools(self, config: EpisodeConfig) -> tuple[ToolSpec, ...]:
        """Those that the model can call. With none, a turn is its answer, thinking left out."""
        return ()

    @abstractmethod
    def session(self, problem: Problem, config: EpisodeConfig, grader: Grader, messages: Sequence[Message]) -> Session:
        """An episode that has not begun yet. `config` has a level and a system message; see `kinds.resolved`."""

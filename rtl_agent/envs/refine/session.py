"""A refinement episode without tokens: answers in, what was wrong with them out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rtl_agent.envs.dialects.dialect import ToolResult
from rtl_agent.envs.episode import Episode, EpisodeTurn
from rtl_agent.envs.failures import failures
from rtl_agent.envs.graded import grade_or_fail
from rtl_agent.envs.level import Level
from rtl_agent.envs.metrics import end_metrics, grade_metrics
from rtl_agent.envs.record import NO_TOKENS, record
from rtl_agent.envs.token_budget import TokenBudget
from rtl_agent.envs.transcript import Transcript
from rtl_agent.grading import Grade, Grader, Outcome
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, refine_message


class Counted(StrEnum):
    """Which round's reward the episode earns."""

    BEST = "best"
    LAST = "last"


class RefineEnd(StrEnum):
    PASSED = "passed"
    MAX_ROUNDS = "max_rounds"
    MAX_TOKENS = "max_tokens"


@dataclass(frozen=True)
class RefineConfig(TokenBudget):
    """The rules. `rounds` are those after the first answer."""

    rounds: int = 2
    counted: Counted = Counted.LAST
    max_tokens: int | None = None
    turn_tokens: int = 256
    feedback_characters: int = 4_000

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise ValueError(f"rounds is {self.rounds}: it must be 0 or more")


@dataclass(frozen=True)
class RefineReply:
    """The next user message, or the end and what was earned."""

    message: Message | None = None
    ended: RefineEnd | None = None
    grade: Grade | None = None
    reward: float = 0.0

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The message as a dialect has it: words of no tool."""
        return () if self.message is None else (ToolResult("", self.message.content),)


class RefineSession:
    """One episode. `take` answers until a reply says `ended`."""

    def __init__(self, problem: Problem, grader: Grader, config: RefineConfig | None = None) -> None:
        self.problem, self.config = problem, config or RefineConfig()
        self._grader = grader
        self._turns: list[EpisodeTurn] = []
        self._grades: list[Grade] = []
        self._ended: RefineEnd | None = None

    async def take(self, text: str, *, tokens: int = 0) -> RefineReply:
        """An answer, thinking left out. `tokens` is the length of the conversation with it."""
        if self._ended is not None:
            raise RuntimeError(f"the episode of {self.problem.id} is over")
        grade = await grade_or_fail(self._grader, self.problem, text)
        self._grades.append(grade)
        self._turns.append(EpisodeTurn(text, reward=grade.reward.total))
        if grade.outcome is Outcome.PASSED:
            return self.end(RefineEnd.PASSED)
        if len(self._turns) > self.config.rounds:
            return self.end(RefineEnd.MAX_ROUNDS)
        if not self.config.has_room(tokens):
            return self.end(RefineEnd.MAX_TOKENS)
        message = refine_message(_at_most(failures(self.problem, grade), self.config.feedback_characters))
        self._turns[-1] = replace(self._turns[-1], observation=message.content)
        return RefineReply(message)

    def end(self, reason: RefineEnd) -> RefineReply:
        self._ended = reason
        if reason is RefineEnd.MAX_TOKENS:  # what was to be shown is not
            self._turns[-1] = replace(self._turns[-1], observation="")
        return RefineReply(None, reason, self.grade, self.grade.reward.total)

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(grade.reward.total for grade in self._grades)

    @property
    def grade(self) -> Grade:
        """The round's that counts; of equal ones the first."""
        return self._grades[self._counted]

    @property
    def metrics(self) -> dict[str, float | int]:
        """Of each round the reward that stands after it: who passed early keeps it, so that rounds compare."""
        earned = [*self.rewards, *[self.rewards[-1]] * (self.config.rounds + 1 - len(self.rewards))]
        if self.config.counted is Counted.BEST:
            earned = [max(earned[: at + 1]) for at in range(len(earned))]
        gains = {f"refine/round_{at}_gain": earned[at] - earned[at - 1] for at in range(1, len(earned))}
        return {
            **grade_metrics(self.grade),
            **{f"refine/round_{at}_reward": reward for at, reward in enumerate(earned)},
            **gains,
            "refine/improved": float(earned[-1] > earned[0]),
            "refine/rounds": len(self._turns) - 1,
            **end_metrics(self.ended),
            f"level/{Level.FEEDBACK.value}": 1.0,
        }

    def episode(
        self, messages: Sequence[Message], *, transcript: Transcript = NO_TOKENS, stop_reason: str = "stop"
    ) -> Episode:
        """The record of an episode that is over."""
        return record(
            self.problem,
            messages,
            self.grade,
            Level.FEEDBACK,
            text=self._turns[self._counted].text,
            stop_reason=stop_reason,
            transcript=transcript,
            turns=self._turns,
            end_reason=self.ended.value,
        )

    @property
    def ended(self) -> RefineEnd:
        if self._ended is None:
            raise RuntimeError(f"the episode of {self.problem.id} has not ended yet")
        return self._ended

    @property
    def _counted(self) -> int:
        if self.config.counted is Counted.LAST:
            return len(self._grades) - 1
        return self.rewards.index(max(self.rewards))


def _at_most(text: str, most: int) -> str:
    """The first lines, and a line that says how many are missing."""
    if len(text) <= most:
        return text
    kept = text[:most].rpartition("\n")[0]
    return f"{kept}\n[... {len(text) - len(kept):,} characters are left out ...]"

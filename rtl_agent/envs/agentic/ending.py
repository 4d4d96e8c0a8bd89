"""The end of an agentic episode as it is kept: its metrics and its record."""

from collections.abc import Sequence
from dataclasses import dataclass

from rtl_agent.envs.agentic.end_reason import EndReason
from rtl_agent.envs.episode import Episode, EpisodeTurn
from rtl_agent.envs.level import Level
from rtl_agent.envs.metrics import end_metrics, grade_metrics
from rtl_agent.envs.record import earned, record
from rtl_agent.envs.transcript import Transcript
from rtl_agent.grading import Grade, Submission
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message


@dataclass
class Counts:
    """What happened in an episode, in numbers."""

    calls: int = 0  # that were run
    parse_errors: int = 0  # turns in which no call could be run
    submits: int = 0
    timed_out: int = 0  # commands


@dataclass(frozen=True)
class Ending:
    """Why it was over, what stood in the workspace then, and what that was worth."""

    reason: EndReason
    level: Level
    submission: Submission
    grade: Grade

    @property
    def reward(self) -> float:
        return earned(self.grade, self.level)

    def metrics(self, counts: Counts, cpu_seconds: float) -> dict[str, float | int]:
        """At level `open` the grade's numbers are called `open/...`, so that no mean of scores takes them in."""
        graded = grade_metrics(self.grade)
        return {
            **(graded if self.level.is_scored else {f"open/{name}": value for name, value in graded.items()}),
            **end_metrics(self.reason),
            f"level/{self.level.value}": 1.0,
            "tool_calls": counts.calls,
            "parse_errors": counts.parse_errors,
            "submits": counts.submits,
            "commands_timed_out": counts.timed_out,
            "commands_cpu_seconds": round(cpu_seconds, 3),
        }

    def episode(
        self,
        problem: Problem,
        messages: Sequence[Message],
        turns: Sequence[EpisodeTurn],
        transcript: Transcript,
        stop_reason: str,
    ) -> Episode:
        return record(
            problem,
            messages,
            self.grade,
            self.level,
            text=turns[-1].text if turns else "",
            stop_reason=stop_reason,
            transcript=transcript,
            turns=turns,
            end_reason=self.reason.value,
            files=self.submission.files,
        )

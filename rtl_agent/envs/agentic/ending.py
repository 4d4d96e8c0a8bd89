"""The end of an agentic episode as it is kept: its metrics and its record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rtl_agent.envs.agentic.end_reason import EndReason, end_metrics
from rtl_agent.envs.episode import Episode, EpisodeTurn
from rtl_agent.envs.graded import diagnostics_of, json_of
from rtl_agent.envs.level import Level
from rtl_agent.envs.metrics import grade_metrics
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
        """0 at level `open`, whatever the grade: it is no score, and nothing must learn from it."""
        return self.grade.reward.total if self.level.is_scored else 0.0

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
        *,
        prompt_tokens: Sequence[int] = (),
        tokens: Sequence[tuple[Sequence[int], Sequence[int]]] = (),
        stop_reason: str = "stop",
    ) -> Episode:
        """`tokens`: of each turn, what was sampled and what was appended after it."""
        kept = list(turns)
        for at, (sampled, appended) in enumerate(tokens):
            kept[at] = replace(kept[at], sampled_tokens=tuple(sampled), observation_tokens=tuple(appended))
        return Episode(
            problem_id=problem.id,
            family=problem.family,
            messages=tuple(messages),
            prompt_tokens=tuple(prompt_tokens),
            sampled_tokens=tuple(token for turn in kept for token in turn.sampled_tokens),
            text=kept[-1].text if kept else "",
            stop_reason=stop_reason,
            grade=json_of(self.grade),
            reward=self.reward,
            reward_parts=dict(self.grade.reward.parts) if self.level.is_scored else {},
            diagnostics=diagnostics_of(self.grade),
            turns=tuple(kept),
            level=self.level.value,
            end_reason=self.reason.value,
            files=dict(self.submission.files),
        )

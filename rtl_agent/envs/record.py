"""An episode that is over -> its record: what was said, the grade of what it left, and what that earned."""

from collections.abc import Mapping, Sequence

from rtl_agent.envs.episode import Episode, EpisodeTurn
from rtl_agent.envs.graded import diagnostics_of, json_of
from rtl_agent.envs.level import Level
from rtl_agent.envs.transcript import Transcript
from rtl_agent.grading import Grade
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message

NO_TOKENS = Transcript()  # of a model that was asked for text


def earned(grade: Grade, level: Level) -> float:
    """0 at level `open`, whatever the grade: it is no score, and nothing must learn from it."""
    return grade.reward.total if level.is_scored else 0.0


def record(
    problem: Problem,
    messages: Sequence[Message],
    grade: Grade,
    level: Level,
    *,
    text: str,
    stop_reason: str,
    transcript: Transcript = NO_TOKENS,
    turns: Sequence[EpisodeTurn] = (),
    end_reason: str = "",
    files: Mapping[str, str] | None = None,
) -> Episode:
    """`text` is what was graded; `turns` are empty where there was one answer only."""
    return Episode(
        problem_id=problem.id,
        family=problem.family,
        messages=tuple(messages),
        prompt_tokens=transcript.prompt,
        sampled_tokens=transcript.sampled,
        text=text,
        stop_reason=stop_reason,
        grade=json_of(grade),
        reward=earned(grade, level),
        reward_parts=dict(grade.reward.parts) if level.is_scored else {},
        diagnostics=diagnostics_of(grade),
        turns=transcript.written_into(turns),
        level=level.value,
        end_reason=end_reason,
        files=dict(files or {}),
    )

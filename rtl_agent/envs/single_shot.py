"""One question, one answer, one grade."""

from collections.abc import Sequence
from enum import StrEnum

from rtl_agent.envs.episode import grade_metrics, grade_or_fail
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.session import CountTokens, EnvironmentKind, Reply, Session, Turn
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, messages


class SingleShotEnd(StrEnum):
    ANSWER = ""  # nothing worth a record: there is no other end


class SingleShotSession(Session):
    """Grades the first turn."""

    def __init__(self, problem: Problem, config: EpisodeConfig, messages: Sequence[Message], grader: Grader) -> None:
        super().__init__(problem, config, messages)
        self._grader, self._answer = grader, ""

    async def take(self, turn: Turn, *, cut_off: bool = False, full: bool = False) -> Reply:
        self._ensure_open()
        self._answer = turn.text
        return self._over(SingleShotEnd.ANSWER, await grade_or_fail(self._grader, self.problem, turn.text))

    async def out_of_tokens(self) -> Reply:
        raise RuntimeError("a single answer ends an episode whatever its length")

    @property
    def text(self) -> str:
        return self._answer

    @property
    def metrics(self) -> dict[str, float | int]:
        return grade_metrics(self.grade)

    @property
    def logs(self) -> dict[str, str | int | float]:
        return {}


class SingleShotKind(EnvironmentKind):
    levels = (Level.SPEC,)
    several_turns = False

    def messages(
        self,
        problem: Problem,
        config: EpisodeConfig,
        *,
        max_prompt_tokens: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> list[Message]:
        return messages(problem, system=config.system, max_prompt_tokens=max_prompt_tokens, count_tokens=count_tokens)

    def session(self, problem: Problem, config: EpisodeConfig, grader: Grader, messages: Sequence[Message]) -> Session:
        return SingleShotSession(problem, config, messages, grader)

"""A question, an answer, and rounds in which the model sees what was wrong with it and answers again."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from rtl_agent.envs.episode import grade_or_fail
from rtl_agent.envs.episode_config import EpisodeConfig, Level, RefineReward
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.session import Reply, Session, ToolResult, Turn
from rtl_agent.envs.single_shot import SingleShotKind
from rtl_agent.grading import Grade, Grader, Outcome
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, refine_message
from rtl_agent.runs.episode import EpisodeTurn


class RefineEnd(StrEnum):
    PASSED = "passed"
    MAX_ROUNDS = "max_rounds"
    MAX_TOKENS = "max_tokens"


class RefineSession(Session):
    """Answers in, what was wrong with them out."""

    def __init__(self, problem: Problem, config: EpisodeConfig, messages: Sequence[Message], grader: Grader) -> None:
        super().__init__(problem, config, messages)
        self._grader = grader
        self._grades: list[Grade] = []

    async def take(self, turn: Turn, *, cut_off: bool = False, full: bool = False) -> Reply:
        self._ensure_open()
        grade = await grade_or_fail(self._grader, self.problem, turn.text)
        self._grades.append(grade)
        self.turns.append(EpisodeTurn(turn.text, reward=grade.reward.total))
        if grade.outcome is Outcome.PASSED:
            return self._finish(RefineEnd.PASSED)
        if len(self.turns) > self.config.rounds:
            return self._finish(RefineEnd.MAX_ROUNDS)
        if full:
            return self._finish(RefineEnd.MAX_TOKENS)
        message = refine_message(_at_most(failures(self.problem, grade), self.config.feedback_characters))
        results = (ToolResult("", message.content),)  # words of no tool
        self._show(results)
        return Reply(results)

    async def out_of_tokens(self) -> Reply:
        return self._finish(RefineEnd.MAX_TOKENS)

    def _finish(self, reason: RefineEnd) -> Reply:
        if reason is RefineEnd.MAX_TOKENS:  # what was to be shown is not
            self.turns[-1] = replace(self.turns[-1], observation="")
        return self._over(reason, self._grades[self._counted])

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(grade.reward.total for grade in self._grades)

    @property
    def text(self) -> str:
        return self.turns[self._counted].text

    @property
    def metrics(self) -> dict[str, float | int]:
        """Of each round the reward that stands after it: who passed early keeps it, so that rounds compare."""
        earned = [*self.rewards, *[self.rewards[-1]] * (self.config.rounds + 1 - len(self.rewards))]
        if self.config.refine_reward == RefineReward.BEST:
            earned = [max(earned[: at + 1]) for at in range(len(earned))]
        return {
            **super().metrics,
            **{f"refine/round_{at}_reward": reward for at, reward in enumerate(earned)},
            **{f"refine/round_{at}_gain": earned[at] - earned[at - 1] for at in range(1, len(earned))},
            "refine/improved": float(earned[-1] > earned[0]),
            "refine/rounds": len(self.turns) - 1,
        }

    @property
    def logs(self) -> dict[str, str | int | float]:
        return {**super().logs, "rewards": ", ".join(f"{reward:g}" for reward in self.rewards)}

    @property
    def _counted(self) -> int:
        """The round that counts; of equal ones the first."""
        if self.config.refine_reward == RefineReward.LAST:
            return len(self._grades) - 1
        return self.rewards.index(max(self.rewards))


def _at_most(text: str, most: int) -> str:
    """The first lines, and a line that says how many are missing."""
    if len(text) <= most:
        return text
    kept = text[:most].rpartition("\n")[0]
    return f"{kept}\n[... {len(text) - len(kept):,} characters are left out ...]"


class RefineKind(SingleShotKind):
    """Asks as a single-shot episode does."""

    levels = (Level.FEEDBACK,)
    several_turns = True

    def session(self, problem: Problem, config: EpisodeConfig, grader: Grader, messages: Sequence[Message]) -> Session:
        return RefineSession(problem, config, messages, grader)

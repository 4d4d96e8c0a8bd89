"""What every environment of ours does: ask a problem's prompt, and leave a record when it is over."""

from abc import abstractmethod
from collections.abc import Callable, Mapping

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.rl.types import Action, ActionExtra, Env, StepResult

from rtl_agent.envs.episode import Episode, EpisodeFailed
from rtl_agent.envs.prompt import Prompt
from rtl_agent.envs.transcript import Transcript
from rtl_agent.grading import Grade
from rtl_agent.problems import Problem
from rtl_agent.prompts import PromptTooLong


class EpisodeEnv(Env):
    """One episode. `episode` is its record, once a step has said that it is over."""

    def __init__(self, problem: Problem, ask: Callable[[], Prompt], stop: StopCondition) -> None:
        self.problem = problem
        self._ask, self._stop = ask, stop
        self._transcript = Transcript()
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        if self._episode is None:
            raise RuntimeError(f"the episode of {self.problem.id} has not ended yet")
        return self._episode

    async def initial_observation(self) -> tuple[tinker.ModelInput, StopCondition]:
        try:
            prompt = self._ask()
        except PromptTooLong as problem:
            raise EpisodeFailed(str(problem)) from problem
        self._transcript = Transcript(prompt.tokens)
        return prompt.observation, self._stop

    @abstractmethod
    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult: ...

    def _over(
        self,
        episode: Episode,
        grade: Grade,
        metrics: Mapping[str, float | int],
        logs: Mapping[str, str | int | float] | None = None,
    ) -> StepResult:
        """The last step. From here on there is a record."""
        self._episode = episode
        return StepResult(
            reward=episode.reward,
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self._stop,
            metrics={**metrics, "cut_off": float(episode.cut_off)},
            logs={
                "problem": self.problem.id,
                **(logs or {}),
                "outcome": grade.outcome.value,
                "reasons": "\n".join(grade.reasons),
            },
        )


def stop_reason_of(extra: ActionExtra | None) -> str:
    """Why sampling ended: "length" where an answer was cut off."""
    return (extra or {}).get("stop_reason", "stop")

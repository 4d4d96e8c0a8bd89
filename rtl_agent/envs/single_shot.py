"""One question, one answer, one grade: a problem as an environment of tinker-cookbook."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import Action, ActionExtra, StepResult

from rtl_agent.envs.answer import answer_text
from rtl_agent.envs.episode_env import EpisodeEnv, stop_reason_of
from rtl_agent.envs.graded import grade_or_fail
from rtl_agent.envs.group_builder import ProblemGroupBuilder
from rtl_agent.envs.level import Level
from rtl_agent.envs.live import grader_named
from rtl_agent.envs.metrics import grade_metrics
from rtl_agent.envs.prompt import Prompt
from rtl_agent.envs.record import record
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem


class SingleShotEnv(EpisodeEnv):
    """Asks once and grades what is answered."""

    def __init__(self, problem: Problem, renderer: Renderer, grader: Grader, ask: Callable[[], Prompt]) -> None:
        super().__init__(problem, ask, renderer.get_stop_sequences())
        self._renderer, self._grader = renderer, grader

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        text = answer_text(self._renderer, action)
        grade = await grade_or_fail(self._grader, self.problem, text)
        self._transcript = self._transcript.then(action)
        episode = record(
            self.problem,
            self._ask().messages,
            grade,
            Level.SPEC,
            text=text,
            stop_reason=stop_reason_of(extra),
            transcript=self._transcript,
        )
        return self._over(episode, grade, grade_metrics(grade))


@dataclass(frozen=True)
class SingleShotGroupBuilder(ProblemGroupBuilder):
    """A problem answered `group_size` times."""

    async def make_envs(self) -> Sequence[SingleShotEnv]:
        renderer, grader = self.renderer, grader_named(self.grader)
        ask = self._asked_once(renderer)
        return [SingleShotEnv(self.problem, renderer, grader, ask) for _ in range(self.group_size)]

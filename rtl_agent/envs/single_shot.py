"""One question, one answer, one grade: a problem as an environment of tinker-cookbook."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import Action, ActionExtra, Env, EnvGroupBuilder, StepResult

from rtl_agent.envs.answer import answer_text
from rtl_agent.envs.episode import Episode, EpisodeFailed
from rtl_agent.envs.graded import diagnostics_of, grade_or_fail, json_of
from rtl_agent.envs.level import Level
from rtl_agent.envs.live import DEFAULT, grader_named
from rtl_agent.envs.metrics import grade_metrics
from rtl_agent.envs.prompt import Prompt, prompt_for
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.grading import Grade, Grader, extract
from rtl_agent.problems import Problem
from rtl_agent.prompts import PromptTooLong


class SingleShotEnv(Env):
    """Asks once and grades what is answered. `episode` is its record, once `step` has been taken."""

    def __init__(self, problem: Problem, renderer: Renderer, grader: Grader, ask: Callable[[], Prompt]) -> None:
        self._problem, self._renderer, self._grader, self._ask = problem, renderer, grader, ask
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        if self._episode is None:
            raise RuntimeError(f"the episode of {self._problem.id} has not ended yet")
        return self._episode

    async def initial_observation(self) -> tuple[tinker.ModelInput, StopCondition]:
        try:
            return self._ask().observation, self._renderer.get_stop_sequences()
        except PromptTooLong as problem:
            raise EpisodeFailed(str(problem)) from problem

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        text = answer_text(self._renderer, action)
        grade = await grade_or_fail(self._grader, self._problem, extract(self._problem, text))
        stop_reason = (extra or {}).get("stop_reason", "stop")
        self._episode = self._record(action, text, stop_reason, grade)
        return StepResult(
            reward=grade.reward.total,
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self._renderer.get_stop_sequences(),
            metrics={**grade_metrics(grade), "cut_off": float(self._episode.cut_off)},
            logs={"problem": self._problem.id, "outcome": grade.outcome.value, "reasons": "\n".join(grade.reasons)},
        )

    def _record(self, action: Action, text: str, stop_reason: str, grade: Grade) -> Episode:
        asked = self._ask()
        return Episode(
            problem_id=self._problem.id,
            family=self._problem.family,
            messages=asked.messages,
            prompt_tokens=asked.tokens,
            sampled_tokens=tuple(action),
            text=text,
            stop_reason=stop_reason,
            grade=json_of(grade),
            reward=grade.reward.total,
            reward_parts=dict(grade.reward.parts),
            diagnostics=diagnostics_of(grade),
            level=Level.SPEC.value,
        )


@dataclass(frozen=True)
class SingleShotGroupBuilder(EnvGroupBuilder):
    """A problem asked `group_size` times. Data only: tokenizer, renderer and grader are looked up by their names."""

    problem: Problem
    group_size: int
    model_name: str  # names the tokenizer
    renderer_name: str
    system: str = "default"
    max_prompt_tokens: int | None = None
    grader: str = DEFAULT

    @property
    def renderer(self) -> Renderer:
        return renderer_for(self.renderer_name, tokenizer_for(self.model_name))

    def prompt(self, renderer: Renderer | None = None) -> Prompt:
        """What is asked; `PromptTooLong` where it cannot be cut to fit."""
        return prompt_for(
            self.problem, renderer or self.renderer, system=self.system, max_prompt_tokens=self.max_prompt_tokens
        )

    async def make_envs(self) -> Sequence[SingleShotEnv]:
        renderer, grader = self.renderer, grader_named(self.grader)
        ask = functools.cache(lambda: self.prompt(renderer))  # rendered once for the group
        return [SingleShotEnv(self.problem, renderer, grader, ask) for _ in range(self.group_size)]

    def logging_tags(self) -> list[str]:
        return [self.problem.category]

"""A problem played several times at once: what the builders of all environments have in common, which is data only."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import EnvGroupBuilder

from rtl_agent.envs.episode_env import EpisodeEnv
from rtl_agent.envs.live import DEFAULT
from rtl_agent.envs.prompt import Prompt, prompt_for
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import Problem


@dataclass(frozen=True)
class ProblemGroupBuilder(EnvGroupBuilder):
    """A problem asked `group_size` times. Tokenizer, renderer and grader are looked up by their names."""

    problem: Problem
    group_size: int
    model_name: str  # names the tokenizer
    renderer_name: str
    system: str = "default"
    max_prompt_tokens: int | None = None
    grader: str = DEFAULT

    @abstractmethod
    async def make_envs(self) -> Sequence[EpisodeEnv]: ...

    @property
    def renderer(self) -> Renderer:
        return renderer_for(self.renderer_name, tokenizer_for(self.model_name))

    def prompt(self, renderer: Renderer | None = None) -> Prompt:
        """What is asked first; `PromptTooLong` where it cannot be cut to fit."""
        return prompt_for(
            self.problem, renderer or self.renderer, system=self.system, max_prompt_tokens=self.max_prompt_tokens
        )

    def logging_tags(self) -> list[str]:
        return [self.problem.category]

    def _asked_once(self, renderer: Renderer) -> Callable[[], Prompt]:
        """The prompt, rendered once for the group."""
        return cache(lambda: self.prompt(renderer))

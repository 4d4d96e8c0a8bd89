"""A problem answered and refined several times at once: a builder of environments, which is data only."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import EnvGroupBuilder

from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.envs.live import DEFAULT, grader_named
from rtl_agent.envs.prompt import Prompt, prompt_for
from rtl_agent.envs.refine.env import RefineEnv
from rtl_agent.envs.refine.session import RefineConfig, RefineSession
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import Problem


@dataclass(frozen=True)
class RefineGroupBuilder(EnvGroupBuilder):
    """The same fields as SingleShotGroupBuilder, and the rules of the episode."""

    problem: Problem
    group_size: int
    model_name: str  # names the tokenizer
    renderer_name: str
    system: str = "default"
    max_prompt_tokens: int | None = None
    grader: str = DEFAULT
    config: RefineConfig = field(default_factory=RefineConfig)

    @property
    def renderer(self) -> Renderer:
        return renderer_for(self.renderer_name, tokenizer_for(self.model_name))

    def prompt(self, renderer: Renderer | None = None) -> Prompt:
        """What is asked first; `PromptTooLong` where it cannot be cut to fit."""
        return prompt_for(
            self.problem, renderer or self.renderer, system=self.system, max_prompt_tokens=self.max_prompt_tokens
        )

    async def make_envs(self) -> Sequence[RefineEnv]:
        renderer, grader = self.renderer, grader_named(self.grader)
        dialect = dialect_for(self.model_name, self.renderer_name)
        ask = functools.cache(lambda: self.prompt(renderer))  # rendered once for the group
        sessions = [RefineSession(self.problem, grader, self.config) for _ in range(self.group_size)]
        return [RefineEnv(session, renderer, dialect, ask) for session in sessions]

    def logging_tags(self) -> list[str]:
        return [self.problem.category]

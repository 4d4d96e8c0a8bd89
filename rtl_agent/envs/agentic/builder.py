"""A problem played by several agents at once: a builder of environments, which is data only."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tinker_cookbook.renderers import Renderer

from rtl_agent.envs.agentic.config import AgenticConfig
from rtl_agent.envs.agentic.env import AgenticEnv
from rtl_agent.envs.agentic.session import AgenticSession, asked
from rtl_agent.envs.agentic.toolbox import tool_specs
from rtl_agent.envs.agentic.workspace import workshop
from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.envs.group_builder import ProblemGroupBuilder
from rtl_agent.envs.live import grader_named
from rtl_agent.envs.prompt import Prompt
from rtl_agent.prompts import PromptTooLong


@dataclass(frozen=True)
class AgenticGroupBuilder(ProblemGroupBuilder):
    """The fields of every builder, and the rules of the episode. Single-shot problems may be played too.

    The renderer's name is also that of the dialect. `cleanup` ends every sandbox of the environments that it made,
    whatever became of them.
    """

    config: AgenticConfig = field(default_factory=AgenticConfig)
    _made: list[AgenticEnv] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def dialect(self) -> Dialect:
        return dialect_for(self.model_name, self.renderer_name)

    def prompt(self, renderer: Renderer | None = None) -> Prompt:
        """What is asked first. Nothing in it can be cut: `PromptTooLong` where it does not fit."""
        return self._prompt(self.dialect)

    async def make_envs(self) -> Sequence[AgenticEnv]:
        dialect, grader, where = self.dialect, grader_named(self.grader), workshop()
        ask = cache(lambda: self._prompt(dialect))  # rendered once for the group
        for _ in range(self.group_size):
            session = AgenticSession(self.problem, grader, where, self.config, system=self.system)
            self._made.append(AgenticEnv(session, dialect, ask))
        return tuple(self._made[-self.group_size :])

    async def cleanup(self) -> None:
        made = list(self._made)
        self._made.clear()
        await asyncio.gather(*(env.close() for env in made), return_exceptions=True)

    def _prompt(self, dialect: Dialect) -> Prompt:
        messages = asked(self.problem, self.config, self.system)
        prompt = Prompt(messages, dialect.first(messages, tool_specs(self.config)))
        if self.max_prompt_tokens is not None and len(prompt.tokens) > self.max_prompt_tokens:
            raise PromptTooLong(self.problem, len(prompt.tokens), self.max_prompt_tokens)
        return prompt

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": []}  # sandboxes stay where they were opened

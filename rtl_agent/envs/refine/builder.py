"""A problem answered and refined several times at once: a builder of environments, which is data only."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.envs.group_builder import ProblemGroupBuilder
from rtl_agent.envs.live import grader_named
from rtl_agent.envs.refine.env import RefineEnv
from rtl_agent.envs.refine.session import RefineConfig, RefineSession


@dataclass(frozen=True)
class RefineGroupBuilder(ProblemGroupBuilder):
    """The fields of every builder, and the rules of the episode."""

    config: RefineConfig = field(default_factory=RefineConfig)

    async def make_envs(self) -> Sequence[RefineEnv]:
        renderer, grader = self.renderer, grader_named(self.grader)
        dialect, ask = dialect_for(self.model_name, self.renderer_name), self._asked_once(renderer)
        sessions = [RefineSession(self.problem, grader, self.config) for _ in range(self.group_size)]
        return [RefineEnv(session, renderer, dialect, ask) for session in sessions]

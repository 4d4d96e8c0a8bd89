"""What a student that teaches itself is told as its teacher: the reference, what failed, or to mind every sentence."""

from dataclasses import dataclass, replace
from typing import cast

from tinker_cookbook.renderers import Message as RendererMessage

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.kinds import kind_of
from rtl_agent.prompts import Message, as_dicts, reference_reply, stands_alone, with_feedback, with_reference
from rtl_agent.runs.episode import Episode
from rtl_agent.training.config import Sees


@dataclass(frozen=True)
class PrivilegedPrompt:
    """The student's own prompt with more in it, in the student's own tokens."""

    sees: Sees

    def tokens(self, builder: ProblemGroupBuilder, episode: Episode) -> tuple[int, ...]:
        """For one episode: what was asked, what is told beside it, and the header of the model's turn."""
        told, words = self.messages(builder, episode), builder.wording
        if words.has_tools and words.dialect is not None:
            return tuple(words.dialect.first(told, kind_of(builder.config).tools(builder.rules)).to_ints())
        return tuple(words.renderer.build_generation_prompt(cast(list[RendererMessage], as_dicts(told))).to_ints())

    def messages(self, builder: ProblemGroupBuilder, episode: Episode) -> list[Message]:
        asked, agent = builder.prompt().messages, builder.wording.has_tools
        if self.sees == "spec-aware":
            insisting = replace(builder, config=replace(builder.rules, system=self.sees), rendered={})
            return list(insisting.prompt().messages)
        if self.sees == "reference":
            brief = stands_alone(builder.rules.system)
            return with_reference(asked, reference_reply(builder.problem), agent=agent, brief=brief)
        assert episode.grade is not None, "an episode without a grade leaves its group before it is advised on"
        return with_feedback(asked, episode.text, failures(builder.problem, episode.grade), agent=agent)

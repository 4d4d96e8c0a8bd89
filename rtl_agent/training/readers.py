"""How a teacher reads an episode: as it is, after a prompt that tells more, or in tokens of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.rollout import PlayedEpisode
from rtl_agent.envs.teacher_view import Thinking, teacher_view
from rtl_agent.teachers import Island, Reading, Span
from rtl_agent.training.privileged import PrivilegedPrompt


class Reader(Protocol):
    def read(self, builder: ProblemGroupBuilder, played: PlayedEpisode, tokens: Sequence[int]) -> Reading:
        """`tokens` is the student's whole sequence, `builder` what asked it."""
        ...


class Verbatim:
    """As the student saw and wrote it."""

    def read(self, builder: ProblemGroupBuilder, played: PlayedEpisode, tokens: Sequence[int]) -> Reading:
        return Reading.verbatim(tokens)


@dataclass(frozen=True)
class Privileged:
    """After a prompt that tells what the student does not see. All that follows it is the student's, token for token.

    Only the teacher's sequence has that prompt: what is trained on is the student's own.
    """

    prompt: PrivilegedPrompt

    def read(self, builder: ProblemGroupBuilder, played: PlayedEpisode, tokens: Sequence[int]) -> Reading:
        prompt = self.prompt.tokens(builder, played.episode)
        known = len(played.episode.prompt_tokens)
        rest = tokens[known:]
        return Reading((*prompt, *rest), len(tokens), (Span(known, len(prompt), len(rest)),))


@dataclass(frozen=True)
class OtherTokens:
    """In the teacher's own tokens and markup: the same messages, and the same texts in each turn."""

    dialect: Dialect
    thinking: Thinking = Thinking.HIDDEN

    def read(self, builder: ProblemGroupBuilder, played: PlayedEpisode, tokens: Sequence[int]) -> Reading:
        view = teacher_view(played.conversation, self.dialect, thinking=self.thinking)
        islands = tuple(
            Island(
                one.text,
                one.student,
                one.teacher,
                one.student_ends,
                one.teacher_ends,
                escaped=one.escaped,
                cut_off=one.cut_off,
            )
            for one in view.shared
        )
        return Reading(view.tokens, len(tokens), islands=islands, ends=view.ends, unscored=view.unscored)

"""How a teacher reads an episode: as it is, after a prompt that tells more, or in tokens of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.rollout import PlayedEpisode
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
    """In the teacher's own tokens and markup: the same messages by its renderer, the same text in its tokens."""

    asked: ProblemGroupBuilder  # as the teacher is asked: its model and its renderer
    student: ByteVocabulary
    teacher: ByteVocabulary

    def read(self, builder: ProblemGroupBuilder, played: PlayedEpisode, tokens: Sequence[int]) -> Reading:
        prompt = replace(self.asked, problem=builder.problem).prompt().tokens
        known = len(played.episode.prompt_tokens)
        sampled = tokens[known:]
        (ours,), (theirs,) = builder.wording.stop[:1], self.asked.wording.stop[:1]
        ended = sampled[-1] == ours
        content = sampled[: len(sampled) - ended]
        pieces = self.student.pieces(content)
        text = b"".join(pieces)
        said = self.teacher.encode(text)
        if said is None:
            return Reading(prompt, len(tokens), unscored=dict.fromkeys(range(known, len(tokens)), "not the same text"))
        island = Island(
            text,
            (known, known + len(content)),
            (len(prompt), len(prompt) + len(said)),
            tuple(accumulate(map(len, pieces))),
            tuple(accumulate(map(len, self.teacher.pieces(said)))),
            cut_off=not ended,
        )
        ends = ((known + len(content), len(prompt) + len(said)),) if ended else ()
        return Reading((*prompt, *said, *([theirs] if ended else [])), len(tokens), islands=(island,), ends=ends)

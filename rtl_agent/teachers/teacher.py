"""What a teacher is, and the usual one: a model that reads the student's own tokens.

A package adds a kind of teacher with an entry point of the group `rtl_agent.teachers`: its object makes a `Teacher` of
a `TeacherSetup`. `rtl_agent.teachers.checks` holds it against the contract.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rtl_agent.byte_vocabulary import ByteVocabulary, HuggingFaceTokenizer
from rtl_agent.registry import Registry
from rtl_agent.teachers.other_tokens import Alignment, compare
from rtl_agent.teachers.reading import Reading
from rtl_agent.teachers.scorer import Scorer, Scores, ScoringError, TopK
from rtl_agent.teachers.translation import Translation

COVERING_TOPK = 8  # of a teacher that reads other tokens, so that the score of a chunk can be split among its tokens


@dataclass(frozen=True)
class Advice:
    """What a teacher thinks of one sequence of the student's, a value for each of its tokens.

    None is not asked about, or not to be compared: such a token teaches nothing. Where the teacher reads other tokens,
    those of one chunk have the same number in `chunks`, and only their sum is the teacher's own word.
    """

    logprobs: tuple[float | None, ...]
    top: tuple[
        TopK | None, ...
    ] = ()  # in the student's tokens; empty unless asked for; None where there is nothing sound
    chunks: tuple[int, ...] = ()  # empty: every token is a chunk of its own
    ends: tuple[int, ...] = ()  # tokens that end a turn
    alignment: Alignment | None = None  # of a teacher that reads other tokens
    text_bytes: int = 0  # of the tokens that it scored and the student sampled; 0: not known


class Teacher(Protocol):
    """Advises on what a student wrote."""

    @property
    def name(self) -> str: ...

    async def advise(self, reading: Reading) -> Advice:
        """Advice for each token of the student's sequence, observation and action tokens alike."""
        ...


@dataclass(frozen=True)
class TeacherSetup:
    """What a teacher is made of."""

    scorer: Scorer
    topk: int = 0  # how many of its likeliest tokens are wanted at each position
    student: HuggingFaceTokenizer | None = None
    teacher: HuggingFaceTokenizer | None = None
    end_of_turn: tuple[int, int] | None = None  # the token that ends a turn, the student's and the teacher's
    guard: bool = True  # soft targets only where they are sound between two vocabularies
    texts: Sequence[str] = ()  # of the kind that is written, to find out where that is


@dataclass(frozen=True)
class SameTokensTeacher:
    """A model with the student's vocabulary: it reads the sampled tokens as they are, perhaps after another prompt."""

    setup: TeacherSetup

    @property
    def name(self) -> str:
        return self.setup.scorer.name

    async def advise(self, reading: Reading) -> Advice:
        first = min((span.teacher for span in reading.spans), default=0)
        scores = checked(
            await self.setup.scorer.score(reading.tokens, topk=self.setup.topk, first=first), self, reading
        )
        logprobs: list[float | None] = [None] * reading.length
        top: list[TopK | None] = [None] * reading.length if scores.top else []
        for span in reading.spans:
            ours, theirs = (
                slice(span.student, span.student + span.length),
                slice(span.teacher, span.teacher + span.length),
            )
            logprobs[ours] = scores.logprobs[theirs]
            if scores.top:
                top[ours] = scores.top[theirs]
        return Advice(tuple(logprobs), tuple(top))


@dataclass(frozen=True)
class OtherTokensTeacher:
    """A model with a vocabulary of its own: the same text is aligned byte by byte."""

    setup: TeacherSetup
    words: Translation

    @staticmethod
    def of(setup: TeacherSetup) -> "OtherTokensTeacher":
        assert setup.student is not None
        assert setup.teacher is not None
        student, teacher = map(ByteVocabulary.from_tokenizer, (setup.student, setup.teacher))
        words = Translation(student, teacher, setup.end_of_turn, guard=setup.guard, texts=setup.texts)
        return OtherTokensTeacher(setup, words)

    @property
    def name(self) -> str:
        return self.setup.scorer.name

    async def advise(self, reading: Reading) -> Advice:
        places = [*(island.teacher[0] for island in reading.islands), *(end for _, end in reading.ends)]
        scores = Scores(())
        if places:  # or there is nothing to ask about: an answer of markup alone
            topk = max(self.setup.topk, COVERING_TOPK)
            asked = self.setup.scorer.score(reading.tokens, topk=topk, first=min(places))
            scores = checked(await asked, self, reading)
        found = compare(reading, scores, self.words, soft=bool(self.setup.topk))
        return Advice(tuple(found.logprobs), tuple(found.top), tuple(found.chunks), tuple(found.ends), found.alignment)


def checked(scores: Scores, teacher: Teacher, reading: Reading) -> Scores:
    """ScoringError where a server did not say something of every token."""
    if len(scores.logprobs) != len(reading.tokens):
        raise ScoringError(f"{teacher.name} gave {len(scores.logprobs)} logprobs for {len(reading.tokens)} tokens")
    if scores.top and len(scores.top) != len(reading.tokens):
        raise ScoringError(
            f"{teacher.name} gave likeliest tokens at {len(scores.top)} of {len(reading.tokens)} positions"
        )
    return scores


SAME_TOKENS, OTHER_TOKENS = "same-tokens", "other-tokens"
TEACHERS: Registry[Callable[[TeacherSetup], Teacher]] = Registry(
    "kind of teacher", "rtl_agent.teachers", {SAME_TOKENS: SameTokensTeacher, OTHER_TOKENS: OtherTokensTeacher.of}
)

"""A student's sequence as its teacher reads it: the teacher's own tokens, and what of them is what of the student's.

With the same tokens and the same prompt that is the sequence itself. A teacher that is told more (`spans` in another
place) or that reads other tokens (`islands`, aligned by their bytes) gets a sequence of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """Tokens that are the same on both sides, wherever they stand."""

    student: int
    teacher: int
    length: int


@dataclass(frozen=True)
class Island:
    """A text that both sequences have, in tokens of their own.

    `student` and `teacher` are from and to (exclusive). Of each of these tokens, the ends say where in the text it
    ends: None within an escape, where text has no such place.
    """

    text: bytes
    student: tuple[int, int]
    teacher: tuple[int, int]
    student_ends: tuple[int | None, ...]
    teacher_ends: tuple[int | None, ...]
    escaped: bool = False  # on either side the text is written with escapes, so tokens are not its bytes
    cut_off: bool = False  # the student did not come to its end: its last token may be half of one


@dataclass(frozen=True)
class Reading:
    """`tokens` are the teacher's; `length` is the student's sequence, prompt included."""

    tokens: tuple[int, ...]
    length: int
    spans: tuple[Span, ...] = ()
    islands: tuple[Island, ...] = ()
    ends: tuple[tuple[int, int], ...] = ()  # tokens that end a turn, the student's and the teacher's
    unscored: Mapping[int, str] = field(default_factory=dict)  # sampled tokens that the teacher is not asked about: why

    @staticmethod
    def verbatim(tokens: Sequence[int]) -> "Reading":
        """The student's own sequence."""
        return Reading(tuple(tokens), len(tokens), (Span(0, 0, len(tokens)),))

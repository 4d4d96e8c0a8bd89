"""Two tokenizations of one text, chunk by chunk.

A chunk is the span between two neighbouring places where both have a token boundary. What a student's tokens and a
teacher's say of a text can be compared chunk by chunk and nowhere finer:

    delta(chunk) = sum of log p_student over its tokens of the student - sum of log p_teacher over its of the teacher

and over a whole text these add up to log p_student(text) - log p_teacher(text), exactly. Of Verilog, 96 % of the tokens
of gpt-oss are chunks of one token of Qwen3's as well.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple


class Chunk(NamedTuple):
    """Token indices from and to (exclusive), on both sides, and the bytes. A tuple: a long answer has thousands."""

    student: tuple[int, int]
    teacher: tuple[int, int]
    span: tuple[int, int]

    @property
    def kind(self) -> str:
        """`1:1`, `1:m`, `n:1` or `n:m`, the student first."""
        one, other = (self.student[1] - self.student[0] == 1), (self.teacher[1] - self.teacher[0] == 1)
        return f"{'1' if one else 'n'}:{'1' if other else 'm'}"


def align(student: Sequence[bytes], teacher: Sequence[bytes]) -> list[Chunk]:
    """The chunks of one text in two tokenizations. ValueError if the texts differ."""
    if b"".join(student) != b"".join(teacher):
        raise ValueError("the two sequences are not the same text")
    return align_ends(list(accumulate(map(len, student))), list(accumulate(map(len, teacher))))


def align_ends(student: Sequence[int | None], teacher: Sequence[int | None]) -> list[Chunk]:
    """The same, in one walk over where each token ends in the text; None where the text has no such place.

    Tokens without bytes belong to the chunk that they stand in, or to the one before where they stand at its end. What
    comes after the last place that both have is in no chunk.
    """
    chunks: list[Chunk] = []
    i = j = start_i = start_j = start = 0
    while i < len(student) and j < len(teacher):
        ours, theirs = student[i], teacher[j]
        if ours is None or (theirs is not None and ours < theirs):
            i += 1
        elif theirs is None or ours > theirs:
            j += 1
        else:
            i, j = i + 1, j + 1
            while i < len(student) and student[i] == ours:
                i += 1
            while j < len(teacher) and teacher[j] == ours:
                j += 1
            chunks.append(Chunk((start_i, i), (start_j, j), (start, ours)))
            start_i, start_j, start = i, j, ours
    return chunks


def chunk_scores(chunks: Sequence[Chunk], teacher: Sequence[float]) -> list[float]:
    """What the teacher gives each chunk: the sum over its tokens."""
    return [math.fsum(teacher[chunk.teacher[0] : chunk.teacher[1]]) for chunk in chunks]


Distribution = Mapping[int, float]  # the teacher's logprobs of some of its tokens at one position


@dataclass(frozen=True)
class Covering:
    """How the score of a chunk is split among the student's tokens in it.

    At a student's boundary inside a chunk the teacher has none. What it thinks of the text up to there is the mass of
    all its tokens that agree with that text and that the student, too, would cut there:

        S(p) = log q of the whole tokens before p + log (sum of q over tokens that begin with the rest up to p)

    A student's token gets S(its end) - S(its start). That adds up to the chunk's score whatever the mass, so a teacher
    that tells only its likeliest tokens moves credit within the chunk and nothing else.
    """

    student: Sequence[bytes]
    teacher: Sequence[bytes]
    bytes_of: Callable[[int], bytes | None]  # of a token of the teacher; None for a marker
    encode: Callable[[bytes], Sequence[bytes] | None]  # how the student writes a text

    def split(self, chunk: Chunk, scores: Sequence[float], known: Callable[[int], Distribution]) -> list[float]:
        """The teacher's logprob for each of the student's tokens in a chunk.

        `scores` are of the teacher's tokens in it, `known` is its distribution at any of its tokens, as far as told.
        """
        first, last = chunk.student
        marks = [0.0]
        text = b"".join(self.student[first:last])
        place = 0
        for token in range(first, last - 1):
            place += len(self.student[token])
            marks.append(self._up_to(chunk, place, token - first + 1, text, scores, known))
        marks.append(math.fsum(scores))
        return [end - start for start, end in pairwise(marks)]

    def _up_to(
        self,
        chunk: Chunk,
        place: int,
        count: int,
        text: bytes,
        scores: Sequence[float],
        known: Callable[[int], Distribution],
    ) -> float:
        position, before = chunk.teacher[0], 0
        while before + len(self.teacher[position]) <= place:
            before += len(self.teacher[position])
            position += 1
        rest = text[before:place]
        told = known(position)
        ours = list(self.student[chunk.student[0] : chunk.student[0] + count])
        agreeing = [
            scores[position - chunk.teacher[0]]
        ]  # the token that stands there begins with the rest, or it would be another chunk
        realised = self.teacher[position]
        for token, logprob in told.items():
            data = self.bytes_of(token)
            if data is None or data == realised or not data.startswith(rest):
                continue
            pieces = self.encode(text[:before] + data)
            if pieces is not None and list(pieces[:count]) == ours:
                agreeing.append(logprob)
        return math.fsum(scores[: position - chunk.teacher[0]]) + _log_sum(agreeing)


def _log_sum(logprobs: Sequence[float]) -> float:
    most = max(logprobs)
    if most == -math.inf:
        return most
    return min(0.0, most + math.log(math.fsum(math.exp(one - most) for one in logprobs)))

"""A teacher's scores of its own tokens, carried over to a student's tokens of the same text.

Chunk by chunk (`rtl_agent.teachers.alignment`): the teacher's score of a chunk is split among the student's tokens in
it, and its likeliest next tokens become soft targets of the student where that is sound.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from rtl_agent.teachers.alignment import Chunk, Covering, Distribution, align_ends
from rtl_agent.teachers.reading import Island, Reading
from rtl_agent.teachers.scorer import Scores, TopK
from rtl_agent.teachers.translation import Translation

IMPOSSIBLE = -1e4  # nats instead of minus infinity, of which no difference can be taken
LONGEST_CHUNK = 32  # bytes; longer ones are where two tokenizers disagree about everything, e.g. in rows of spaces
TOO_LONG, CUT_OFF, NOT_ALIGNED, NOT_SCORED = "long chunk", "cut off", "not aligned", "not scored by the server"
ONE_TO_ONE = "1:1"
MEASURED = 256  # chunks at the beginning of a text


@dataclass
class Alignment:
    """Counts over one sequence; `add` sums them over several."""

    content: int = 0  # the student's tokens in texts that both read, and those that end turns
    scored: int = 0  # of these
    text_bytes: int = 0  # of the scored ones
    longest: int = 0  # bytes of the longest chunk
    kinds: Counter[str] = field(default_factory=Counter)  # scored tokens by the kind of their chunk: 1:1, 1:m, n:1, n:m
    unscored: Counter[str] = field(default_factory=Counter)  # sampled tokens by cause
    boundaries: int = 0  # shared by both tokenizations
    inside_pretokens: int = 0  # of these: inside a piece that both would have merged
    examined: int = 0  # the student's tokens that were compared with how its tokenizer writes the text
    canonical: int = 0  # of these: written the same way
    soft: int = 0  # positions with soft targets
    soft_mass: float = 0.0  # what of the teacher's likeliest tokens has a place there, added up
    no_soft: Counter[str] = field(default_factory=Counter)  # positions without, by cause

    def add(self, other: "Alignment") -> None:
        for name, value in vars(other).items():
            mine = getattr(self, name)
            setattr(self, name, max(mine, value) if name == "longest" else mine + value)


@dataclass
class Compared:
    """The teacher's word on each of the student's tokens."""

    logprobs: list[float | None]
    top: list[TopK | None]
    chunks: list[int]
    ends: list[int] = field(default_factory=list)  # scored tokens that end a turn
    alignment: Alignment = field(default_factory=Alignment)


def compare(reading: Reading, scores: Scores, words: Translation, *, soft: bool) -> Compared:
    """`soft`: with soft targets, which need the teacher's likeliest tokens."""
    found = Compared([None] * reading.length, [None] * reading.length if soft else [], list(range(reading.length)))
    found.alignment.unscored.update(reading.unscored.values())
    for island in reading.islands:
        _compare_text(island, scores, words, found)
    for ours, theirs in reading.ends:
        _compare_end(ours, theirs, scores, words, found)
    return found


def _compare_end(ours: int, theirs: int, scores: Scores, words: Translation, found: Compared) -> None:
    """Tokens that end a turn: without their score nothing teaches a student to stop."""
    stats = found.alignment
    stats.content += 1
    if scores.logprobs[theirs] is None:
        stats.unscored[NOT_SCORED] += 1
        return
    stats.scored += 1
    stats.kinds[ONE_TO_ONE] += 1
    found.logprobs[ours] = scores.logprobs[theirs]
    found.ends.append(ours)
    if found.top:
        found.top[ours] = _soft(theirs, scores, words, stats)


def _compare_text(island: Island, scores: Scores, words: Translation, found: Compared) -> None:
    stats, offset = found.alignment, island.student[0]
    chunks = align_ends(island.student_ends, island.teacher_ends)
    stats.content += len(island.student_ends)
    if not island.escaped:
        _measure(island, chunks, words, stats)
    split = _Splitter(island, scores, words)
    for number, chunk in enumerate(chunks):
        size, tokens = chunk.span[1] - chunk.span[0], chunk.student[1] - chunk.student[0]
        stats.longest = max(stats.longest, size)
        cut_off = island.cut_off and number == len(chunks) - 1  # its last token may be half of one
        parts = None if cut_off or size > LONGEST_CHUNK else split(chunk)
        if parts is None:
            stats.unscored[CUT_OFF if cut_off else TOO_LONG if size > LONGEST_CHUNK else NOT_SCORED] += tokens
            continue
        stats.scored += tokens
        stats.text_bytes += size
        stats.kinds[chunk.kind] += tokens
        first = offset + chunk.student[0]
        found.logprobs[first : first + tokens] = parts
        found.chunks[first : first + tokens] = [first] * tokens
        if found.top:
            if words.guard and (chunk.kind != ONE_TO_ONE or island.escaped):
                stats.no_soft["not 1:1"] += 1
            else:
                found.top[first] = _soft(island.teacher[0] + chunk.teacher[0], scores, words, stats)
    rest = len(island.student_ends) - (chunks[-1].student[1] if chunks else 0)
    if rest:
        stats.unscored[CUT_OFF if island.cut_off else NOT_ALIGNED] += rest


def _soft(position: int, scores: Scores, words: Translation, stats: Alignment) -> TopK | None:
    made = words.soft_targets(scores.top[position] if scores.top else None)
    if isinstance(made, str):
        stats.no_soft[made] += 1
        return None
    top, mass = made
    stats.soft += 1
    stats.soft_mass += mass
    return top


def _measure(island: Island, chunks: Sequence[Chunk], words: Translation, stats: Alignment) -> None:
    """How far the student's tokens are the usual ones, and shared boundaries are where both tokenizers always cut.

    Of the beginning of each text: these are shares, and encoding all of it again costs more than all else together.
    """
    known = [chunk for chunk in chunks[:MEASURED] if chunk.span[1] - chunk.span[0] <= LONGEST_CHUNK]
    if not known or known[-1] is not chunks[len(known) - 1]:  # a long chunk among them: nothing is compared there
        return
    text, ends = island.text[: known[-1].span[1]], island.student_ends[: known[-1].student[1]]
    stats.boundaries += len(known) - 1
    usual = words.pieces(text)
    if usual is not None:
        marks = {0, *accumulate(map(len, usual))}
        stats.examined += len(ends)
        stats.canonical += sum(start in marks and end in marks for start, end in pairwise((0, *ends)))
    ours, theirs = words.student.pretoken_ends(text), words.teacher.pretoken_ends(text)
    if ours is not None and theirs is not None:
        stats.inside_pretokens += sum(chunk.span[1] not in ours and chunk.span[1] not in theirs for chunk in known[:-1])


class _Splitter:
    """Splits the teacher's score of a chunk among the student's tokens in it."""

    def __init__(self, island: Island, scores: Scores, words: Translation) -> None:
        self._offset, self._top = island.teacher[0], scores.top
        self._scores = scores.logprobs[island.teacher[0] : island.teacher[1]]
        self._covering = None
        if not island.escaped:
            ours, theirs = _cut(island.text, island.student_ends), _cut(island.text, island.teacher_ends)
            self._covering = Covering(ours, theirs, words.teacher.get, words.pieces)

    def __call__(self, chunk: Chunk) -> list[float] | None:
        """None where the server left a token of it out."""
        scores = [max(one, IMPOSSIBLE) for one in self._scores[slice(*chunk.teacher)] if one is not None]
        if len(scores) < chunk.teacher[1] - chunk.teacher[0]:
            return None
        tokens = chunk.student[1] - chunk.student[0]
        if tokens == 1:
            return [sum(scores)]
        if self._covering is None:  # within escapes nobody knows which tokens of the teacher begin with what
            return [sum(scores) / tokens] * tokens
        return self._covering.split(chunk, scores, self._known)

    def _known(self, position: int) -> Distribution:
        top = self._top[self._offset + position] if self._top else None
        return {} if top is None else dict(zip(top.tokens, top.logprobs, strict=True))


def _cut(text: bytes, ends: Sequence[int | None]) -> list[bytes]:
    return [text[start:end] for start, end in pairwise((0, *ends))]

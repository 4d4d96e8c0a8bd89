"""A conversation as a teacher reads it that has a dialect and a tokenizer of its own, and what of it is the student's.

The teacher is asked with the same messages and tools, and every turn of the student is written for it once more. What
both have in common are texts, byte for byte; markup has no counterpart, and nothing is learnt from it.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rtl_agent.envs.conversation import Conversation, ModelTurn, Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.dialect import Dialect

MARKUP = "markup"
THINKING = "thinking"
TOOL_CALL = "tool call"
CUT_OFF = "cut off"
NOT_UTF8 = "not UTF-8"
CHANGED = "changed by the teacher's tokenizer"
AFTER_THE_END = "after the end"


class Thinking(StrEnum):
    """What the teacher makes of what the student thought."""

    HIDDEN = "hidden"
    SHOWN = "shown"  # it reads it, and is not asked about it
    SCORED = "scored"


@dataclass(frozen=True)
class SharedText:
    """A text that student and teacher have in tokens of their own, from and to (exclusive) in their sequences.

    Of each of these tokens, the ends say where in the text it ends: None within an escape.
    """

    kind: PartKind
    text: bytes
    student: tuple[int, int]
    teacher: tuple[int, int]
    student_ends: tuple[int | None, ...]
    teacher_ends: tuple[int | None, ...]
    escaped: bool = False  # on either side
    cut_off: bool = False  # the student's turn ended with it, for want of tokens

    def moved(self, student: int, teacher: int) -> "SharedText":
        return replace(self, student=_moved(self.student, student), teacher=_moved(self.teacher, teacher))


@dataclass(frozen=True)
class TeacherView:
    """Every token that was sampled is in one of the three: a shared text, an end, or unscored."""

    tokens: tuple[int, ...]  # the teacher's
    shared: tuple[SharedText, ...]
    ends: tuple[tuple[int, int], ...]  # tokens that end a turn, the student's and the teacher's
    unscored: Mapping[int, str]  # sampled tokens that the teacher is not asked about: why


def teacher_view(conversation: Conversation, dialect: Dialect, *, thinking: Thinking = Thinking.HIDDEN) -> TeacherView:
    """The whole of it, in the teacher's dialect."""
    tokens = dialect.first(conversation.messages, conversation.tools).to_ints()
    shared: list[SharedText] = []
    ends: list[tuple[int, int]] = []
    unscored: dict[int, str] = {}
    at = len(conversation.prompt)
    for number, (turn, shown) in enumerate(zip(conversation.turns, conversation.shown, strict=True)):
        said = turn.written
        written = dialect.write(said.parts, ended=not turn.cut_off, thinking=thinking is not Thinking.HIDDEN)
        found = _Turn(turn, written, thinking)
        shared += [one.moved(at, len(tokens)) for one in found.shared]
        if found.ends:
            ends.append((at + found.ends[0], len(tokens) + found.ends[1]))
        unscored |= {at + token: why for token, why in found.unscored.items()}
        tokens += written.tokens
        if number < len(conversation.turns) - 1:
            tokens += dialect.follow(written.tokens, turn.results)
        at += len(said.tokens) + len(shown)
    return TeacherView(tuple(tokens), tuple(shared), tuple(ends), unscored)


class _Turn:
    """One turn on both sides; positions are those in the turn."""

    def __init__(self, turn: ModelTurn, written: WrittenTurn, thinking: Thinking) -> None:
        said = turn.written
        self._cut_off, self._length = turn.cut_off, len(said.tokens)
        self.shared: list[SharedText] = []
        self.ends = (said.end, written.end) if said.end is not None and written.end is not None else None
        behind = len(said.tokens) if said.end is None else said.end + 1
        self.unscored = {token: MARKUP if token < behind else AFTER_THE_END for token in range(len(said.tokens))}
        for student, teacher in _pairs(said.parts, written.parts):
            if student.kind is PartKind.THINKING and thinking is not Thinking.SCORED:
                self.unscored |= dict.fromkeys(range(*student.tokens), THINKING)
            else:
                self._share(student, teacher)
        for one in self.shared:
            for token in range(*one.student):
                del self.unscored[token]
        if self.ends:
            del self.unscored[self.ends[0]]

    def _share(self, student: Part, teacher: Part | None) -> None:
        found = [] if teacher is None else list(_common(student, teacher))
        scored = {token for one in found for token in range(*one.student)}
        why = self._why_not(student) if len(scored) < len(student.ends) else ""
        for token, begin, end in zip(
            range(*student.tokens), (student.start, *student.ends), student.ends, strict=False
        ):
            if token not in scored:
                self.unscored[token] = MARKUP if _in_a_gap(student, begin, end) else why
        for one in found:
            is_last = self._cut_off and one.student[1] == self._length
            self.shared.append(replace(one, cut_off=True) if is_last else one)

    def _why_not(self, part: Part) -> str:
        """Why tokens of this part are in no shared text."""
        if part.kind in (PartKind.ARGUMENTS, PartKind.ARGUMENT):
            return TOOL_CALL
        if part.kind is PartKind.THINKING:
            return THINKING
        try:
            part.text.decode()
        except UnicodeDecodeError as error:
            return CUT_OFF if self._cut_off and error.end == len(part.text) else NOT_UTF8
        return CHANGED


def _in_a_gap(part: Part, begin: int | None, end: int | None) -> bool:
    """Whether a token of the student's is a marker that stands where it means nothing."""
    if begin is None or end is None:
        return False
    gap = bisect_right(part.gaps, (begin, len(part.text))) - 1
    return gap >= 0 and end <= part.gaps[gap][1]


def _pairs(said: Sequence[Part], written: Sequence[Part]) -> Iterator[tuple[Part, Part | None]]:
    """Parts of the student with those of the teacher that say the same; arguments once, as JSON where both have it."""
    others: dict[tuple[PartKind, int, str, bytes], list[Part]] = defaultdict(list)
    for part in reversed(written):
        others[_key(part)].append(part)
    as_json = {part.call for part in said if part.kind is PartKind.ARGUMENTS and _key(part) in others}
    for part in said:
        if part.kind is PartKind.ARGUMENTS and part.call not in as_json:
            yield part, None
        elif part.kind is not PartKind.ARGUMENT or part.call not in as_json:
            found = others.get(_key(part))
            yield part, found.pop() if found else None


def _key(part: Part) -> tuple[PartKind, int, str, bytes]:
    return part.kind, part.call, part.argument, part.text


def _common(student: Part, teacher: Part) -> Iterator[SharedText]:
    """What lies between tokens' ends of both, without what either says in other bytes."""
    ours, theirs = _Places(student), _Places(teacher)
    both = sorted(ours.first.keys() & theirs.first.keys())
    low = 0
    for gap_begin, gap_end in [*sorted({*student.gaps, *teacher.gaps}), (len(student.text), len(student.text))]:
        known = both[bisect_left(both, low) : bisect_right(both, gap_begin)]
        low = max(low, gap_end)
        if len(known) < 2:
            continue
        begin, end = known[0], known[-1]
        yield SharedText(
            student.kind,
            student.text[begin:end],
            ours.tokens(begin, end),
            theirs.tokens(begin, end),
            ours.ends(begin, end),
            theirs.ends(begin, end),
            student.escaped or teacher.escaped,
        )


class _Places:
    """Where in its text the tokens of a part begin and end."""

    def __init__(self, part: Part) -> None:
        self._part, self._places = part, (part.start, *part.ends)
        self.first: dict[int, int] = {}
        self._last: dict[int, int] = {}
        for number, place in enumerate(self._places):
            if place is not None:
                self.first.setdefault(place, number)
                self._last[place] = number

    def tokens(self, begin: int, end: int) -> tuple[int, int]:
        """Without those at either side that say nothing."""
        return self._part.tokens[0] + self._last[begin], self._part.tokens[0] + self.first[end]

    def ends(self, begin: int, end: int) -> tuple[int | None, ...]:
        places = self._places[self._last[begin] + 1 : self.first[end] + 1]
        return tuple(None if place is None else place - begin for place in places)


def _moved(span: tuple[int, int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by

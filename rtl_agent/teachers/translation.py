"""A teacher's tokens in a student's vocabulary: which token of the student begins the same text, and is it the same."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.teachers.alignment import align
from rtl_agent.teachers.scorer import TopK

LIKELY = 0.01  # a candidate this likely must be the same action, or the position has no soft targets
MAPPED_MASS = 0.95  # of the teacher's likeliest tokens, in the student's vocabulary
MOST_OPEN = 0.02  # of a token's places in known texts: where the student begins with another token than alone
_DIGITS = tuple(b"%d" % digit for digit in range(10))
NOT_TOLD, NOT_CLOSED, MASS = "not told", "not closed", "mass"


class Translation:
    """Between two vocabularies. `guard` leaves out what would teach another action than the teacher means."""

    def __init__(
        self,
        student: ByteVocabulary,
        teacher: ByteVocabulary,
        end_of_turn: tuple[int, int] | None = None,
        *,
        guard: bool = True,
        texts: Sequence[str] = (),
    ) -> None:
        """`texts` are of the kind that is written: how the two cut them says which tokens are the same actions."""
        self.student, self.teacher, self.guard = student, teacher, guard
        self._end_of_turn, self._texts = end_of_turn, texts
        self.token = lru_cache(maxsize=None)(self._token)
        self.pieces = lru_cache(maxsize=65_536)(self._pieces)

    def soft_targets(self, top: TopK | None) -> tuple[TopK, float] | str:
        """The teacher's likeliest tokens as the student's, with the share of them that has a place; or why not.

        Probabilities of tokens that begin alike for the student add up. What has no place is not given to the others.
        """
        if top is None:
            return NOT_TOLD
        found: dict[int, list[float]] = {}
        mass = 0.0
        whole = True
        for token, logprob, share in zip(top.tokens, top.logprobs, top.shares(), strict=True):
            ours = self.token(token)
            if ours is None:
                whole = False
                continue
            number, same = ours
            if self.guard and not same and math.exp(logprob) > LIKELY:
                return NOT_CLOSED
            mass += share
            found.setdefault(number, []).append(logprob)
        if not found or (self.guard and mass < MAPPED_MASS):
            return MASS
        logprobs = (
            one[0] if len(one) == 1 else min(0.0, math.log(math.fsum(map(math.exp, one)))) for one in found.values()
        )
        return TopK(tuple(found), tuple(logprobs), 1.0 if whole else mass), mass

    def _token(self, token: int) -> tuple[int, bool] | None:
        """The student's token that begins this token's text, and whether it is the same action."""
        if self._end_of_turn is not None and token == self._end_of_turn[1]:
            return self._end_of_turn[0], True
        data = self.teacher.get(token)
        if not data:
            return None
        alone = self.student.token_of.get(data)
        if alone is not None:
            return alone, self._is_closed(token, data, alone)
        usual = self.student.encode(data)
        return (usual[0], self._is_closed(token, data, usual[0])) if usual else None

    def _is_closed(self, token: int, data: bytes, ours: int) -> bool:
        """Where the teacher writes this token, the student writes that one, whatever follows.

        A teacher that writes digits one by one gives `1` the mass of all numbers that begin with it. To a student that
        has `16` as one token, its own `1` is another action: taught so, it would unlearn `16`. Numbers are tried with
        every digit behind them. For all other tokens what may follow is a matter of texts: tried with every sign, a
        third of all positions of our two small vocabularies had a candidate that is not closed, by combinations such
        as `[(`, which nobody writes.
        """
        if data.isdigit() and any(self._merges(token, data, digit, ours) for digit in _DIGITS):
            return False
        seen, merged = self._seen.get(token, (0, 0))
        return merged <= MOST_OPEN * seen

    def _merges(self, token: int, data: bytes, follower: bytes, ours: int) -> bool:
        theirs, mine = self.teacher.encode(data + follower), self.student.encode(data + follower)
        return theirs is not None and theirs[0] == token and mine is not None and mine[0] != ours

    @cached_property
    def _seen(self) -> Mapping[int, tuple[int, int]]:
        """Of the teacher's tokens in known texts: how often each begins a chunk, and how often the student does so with
        another token than it would write for that one alone."""
        seen: Counter[int] = Counter()
        merged: Counter[int] = Counter()
        for text in self._texts:
            ours, theirs = self.student.encode(text.encode()), self.teacher.encode(text.encode())
            if ours is None or theirs is None:
                continue
            for chunk in align(self.student.pieces(ours), self.teacher.pieces(theirs)):
                token = theirs[chunk.teacher[0]]
                alone = self.pieces(self.teacher[token])
                seen[token] += 1
                merged[token] += alone is None or alone[0] != self.student[ours[chunk.student[0]]]
        return {token: (count, merged[token]) for token, count in seen.items()}

    def _pieces(self, text: bytes) -> tuple[bytes, ...] | None:
        """How the student writes a text."""
        tokens = self.student.encode(text)
        return None if tokens is None else tuple(self.student.pieces(tokens))

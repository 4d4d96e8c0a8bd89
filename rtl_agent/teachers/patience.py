"""Waiting for a server: a run pauses while a teacher is gone, and nothing of it is lost."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rtl_agent.teachers.scorer import Scorer, Scores, ScoringError, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
T = TypeVar("T")


class ServerGone(ScoringError):
    """It was waited for long enough."""


@dataclass
class Patience:
    """Asks again after pauses that double up to a minute. What it waits for is said once, and when that is over."""

    seconds: float
    say: Callable[[str], None]
    # Of all requests to a server: many wait at a time, and what was asked before says nothing of now.
    _silent_since: float | None = field(default=None, init=False)
    _answered_at: float = field(default=-math.inf, init=False)

    async def ask(self, work: Callable[[], Awaitable[T]]) -> T:
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            try:
                found = await work()
            except Unreachable as error:
                self._not_answered(error, began)
                await asyncio.sleep(min(LONGEST_PAUSE, max(pause, error.pause)))
                pause *= 2
            else:
                self._answered(began)
                return found

    def _not_answered(self, error: Unreachable, began: float) -> None:
        now = time.monotonic()
        if self._silent_since is None:
            if began < self._answered_at:
                return
            self._silent_since = now
            self.say(
                f"the teacher does not answer: {error}. The run waits for it, {_span(self.seconds)} at most, and "
                "continues by itself"
            )
        if now - self._silent_since >= self.seconds:
            raise ServerGone(f"the teacher was silent for {_span(self.seconds)}: {error}") from error

    def _answered(self, began: float) -> None:
        now = time.monotonic()
        if self._silent_since is None or began >= self._silent_since:
            self._answered_at = now
            if self._silent_since is not None:
                self.say(f"the teacher answers again, after {_span(now - self._silent_since)}")
                self._silent_since = None


@dataclass(frozen=True)
class PatientScorer:
    """A scorer that waits for its server."""

    scorer: Scorer
    patience: Patience

    @property
    def name(self) -> str:
        return self.scorer.name

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        return await self.patience.ask(lambda: self.scorer.score(tokens, topk=topk, first=first))


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"

"""A scorer that waits for its server: a run pauses while a teacher is gone, and nothing of it is lost."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rtl_agent.teachers.scorer import Scorer, Scores, ScoringError, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class ServerGone(ScoringError):
    """It was waited for long enough."""


@dataclass
class PatientScorer:
    """Asks again after pauses that double up to a minute. What it waits for is said once, and when it is over."""

    scorer: Scorer
    patience_seconds: float
    say: Callable[[str], None]
    first_pause: float = FIRST_PAUSE
    _silent_since: float | None = field(default=None, init=False)  # of all requests: many wait at a time

    @property
    def name(self) -> str:
        return self.scorer.name

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        pause = self.first_pause
        while True:
            try:
                found = await self.scorer.score(tokens, topk=topk, first=first)
            except Unreachable as error:
                self._not_answered(error)
                await asyncio.sleep(min(LONGEST_PAUSE, max(pause, error.pause)))
                pause *= 2
            else:
                self._answered()
                return found

    def _not_answered(self, error: Unreachable) -> None:
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
            self.say(
                f"the teacher does not answer: {error}. The run waits for it, {_span(self.patience_seconds)} at most, "
                "and goes on by itself"
            )
        if now - self._silent_since >= self.patience_seconds:
            raise ServerGone(f"the teacher was silent for {_span(self.patience_seconds)}: {error}") from error

    def _answered(self) -> None:
        if self._silent_since is not None:
            self.say(f"the teacher answers again, after {_span(time.monotonic() - self._silent_since)}")
            self._silent_since = None


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"

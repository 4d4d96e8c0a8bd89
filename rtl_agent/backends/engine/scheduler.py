"""One thread for all snapshots of an engine: each that has work gets a turn after the other."""

import threading
from typing import Protocol


class Work(Protocol):
    def turn(self) -> bool:
        """A few milliseconds of work; False when there is nothing left to do."""

    def rest(self) -> None:
        """Others work and this one does not: what it can compute again need not stay in memory."""


class Scheduler:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: dict[Work, None] = {}  # in order of arrival
        self._awake: dict[Work, None] = {}  # had the last turn
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self, work: Work) -> None:
        """`work` has something to do. The thread starts with the first of it."""
        with self._changed:
            if self._closed:
                return
            self._busy[work] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="engine-sampling", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._busy or self._closed)
                if self._closed:
                    return
                turn, self._busy = self._busy, {}
            for work in self._awake.keys() - turn.keys():
                work.rest()
            self._awake = dict(turn)
            again = [work for work in turn if work.turn()]
            with self._changed:
                self._busy = dict.fromkeys(again) | self._busy

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._busy.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

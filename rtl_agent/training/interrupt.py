"""Stopping a run early and in order: Ctrl-C drops the step or finishes it, and a checkpoint is saved.

A step is dropped as long as its optimizer has not been asked for anything: the weights are those of the step before,
and the resumed run does the step again with the same samples. After that it is finished, which needs no more samples.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rtl_agent.training.errors import TrainingError

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(TrainingError):
    """The run was stopped before its end. What was done is kept, and the message says how to resume."""

    exit_code = 130


class Stop:
    """A request to stop. `request` can be called by a signal handler, or by a program in the loop's thread."""

    def __init__(self, *, on_signals: bool = False) -> None:
        self.on_signals = on_signals
        self.on_request: Callable[[], None] = lambda: None
        self._event = asyncio.Event()

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def request(self) -> None:
        if not self.requested:
            self.on_request()
        self._event.set()

    async def unless_requested(self, work: Coroutine[Any, Any, T], may_drop: Callable[[], bool]) -> T:
        """The result of the work. Interrupted if a stop is requested before its end and it may be dropped then."""
        if self.requested:
            work.close()
            raise Interrupted("stopped")
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and may_drop():
                raise Interrupted("stopped")
            return await task
        finally:
            task.cancel()
            stop.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Meanwhile the first Ctrl-C, or SIGTERM, requests the stop; the second one ends the work at once."""
    if not stop.on_signals or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stopped() -> None:
        if stop.requested:
            task.cancel()
        stop.request()

    for number in SIGNALS:
        loop.add_signal_handler(number, stopped)
    try:
        yield
    except asyncio.CancelledError:
        if not stop.requested:
            raise
        raise Interrupted("stopped") from None
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

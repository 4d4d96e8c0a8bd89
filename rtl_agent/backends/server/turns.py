"""One thread for each trained model: calls run in the order of their sequence ids, however they arrive."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.server.refused import bad_request

Result = TypeVar("Result")

GAP_SECONDS = 30.0  # a sequence id that does not come for so long never will: its sender failed


class Turns:
    """The SDK counts from 1. A call that comes early waits for its predecessors."""

    def __init__(self, name: str, first: int = 1, gap_seconds: float = GAP_SECONDS) -> None:
        self._next = first
        self._gap_seconds = gap_seconds
        self._early: dict[int, Callable[[], None]] = {}
        self._gap: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: set[asyncio.Future[Any]] = set()

    def take(self, sequence_id: int | None, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Queue a call; the future is done when it has run."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def settle(result: Result | None, error: BaseException | None) -> None:
            if done.done():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]  # Result may itself be None

        def run() -> None:
            try:
                result, error = call(), None
            except Exception as raised:
                loop.call_soon_threadsafe(settle, None, raised)
            else:
                loop.call_soon_threadsafe(settle, result, error)

        def queue() -> None:
            self._thread.submit(run)

        if sequence_id is None:
            sequence_id = self._next
        if sequence_id < self._next or sequence_id in self._early:
            raise bad_request(f"sequence id {sequence_id} was used before; the next one is {self._next}")
        self._waiting.add(done)
        done.add_done_callback(self._waiting.discard)
        self._early[sequence_id] = queue
        self._let_through()
        return done

    def _let_through(self) -> None:
        while self._next in self._early:
            self._early.pop(self._next)()
            self._next += 1
        if self._gap:
            self._gap.cancel()
            self._gap = None
        if self._early:
            self._gap = asyncio.get_running_loop().call_later(self._gap_seconds, self._skip_gap)

    def _skip_gap(self) -> None:
        self._gap = None
        if self._early:
            self._next = min(self._early)
            self._let_through()

    def close(self, last: Callable[[], None]) -> None:
        """No more calls: those that wait fail, and `last` runs after the one that runs now."""
        if self._gap:
            self._gap.cancel()
        self._early.clear()
        for done in list(self._waiting):
            done.set_exception(EngineError("the model was unloaded before this request had its turn"))
        self._thread.shutdown(wait=False, cancel_futures=True)
        closing = ThreadPoolExecutor(1, thread_name_prefix="closing")

        def wait_then_close() -> None:
            self._thread.shutdown(wait=True)
            last()

        closing.submit(wait_then_close)
        closing.shutdown(wait=False)

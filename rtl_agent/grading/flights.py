"""Identical work under way is done once: who comes later waits for the same run."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class Flights(Generic[T]):
    """Runs by key. A run goes on while anybody waits for it, and is cancelled when the last one is gone."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()  # those that are being cancelled, too

    def __contains__(self, key: str) -> bool:
        return key in self._flights

    async def share(self, key: str, run: Callable[[], Coroutine[None, None, T]]) -> T:
        """Join the run of this key, or start it."""
        flight = self._flights.get(key) or self._start(key, run())
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if flight.waiting == 0 and not flight.task.done():
                self._land(key, flight)  # who comes now must not join a run that is being cancelled
                flight.task.cancel()
                await asyncio.wait([flight.task])  # its box is gone when the caller learns of the end

    async def aclose(self) -> None:
        """Cancel what is under way, and see it end."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, key: str, work: Coroutine[None, None, T]) -> _Flight[T]:
        flight = self._flights[key] = _Flight(asyncio.create_task(work))
        self._tasks.add(flight.task)
        flight.task.add_done_callback(self._tasks.discard)
        flight.task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    def _land(self, key: str, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

"""Single flight: identical work under way is done once; who comes later waits for the same run."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class _Run(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Runs by key. A run goes on while anybody waits for it, and is cancelled when the last one is gone."""

    def __init__(self) -> None:
        self._running: dict[str, _Run[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()  # those that are being cancelled, too

    def __contains__(self, key: str) -> bool:
        return key in self._running

    async def share(self, key: str, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Join the run of this key, or start it."""
        run = self._running.get(key) or self._start(key, work())
        run.waiting += 1
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= 1
            if run.waiting == 0 and not run.task.done():
                self._forget(key, run)  # who comes now must not join a run that is being cancelled
                run.task.cancel()
                await asyncio.wait([run.task])  # its box is gone when the caller learns of the end

    async def aclose(self) -> None:
        """Cancel what is under way, and see it end."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, key: str, work: Coroutine[None, None, T]) -> _Run[T]:
        run = self._running[key] = _Run(asyncio.create_task(work))
        self._tasks.add(run.task)
        run.task.add_done_callback(self._tasks.discard)
        run.task.add_done_callback(lambda _: self._forget(key, run))
        return run

    def _forget(self, key: str, run: _Run[T]) -> None:
        if self._running.get(key) is run:
            del self._running[key]

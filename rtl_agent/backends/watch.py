"""Work that needs a server ends when the server is gone."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

WATCH_SECONDS = 1.0
T = TypeVar("T")


async def while_alive(check: Callable[[], None], work: Coroutine[Any, Any, T]) -> T:
    """The SDK tries for minutes to reach a server that is gone: `check` looks at its process instead, and raises."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=WATCH_SECONDS))[0]:
            check()
        return await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

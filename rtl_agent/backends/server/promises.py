"""Request-id futures: work that was promised, long polls for it, and what is kept for how long."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.server.answer import Answer, failed_answer

log = logging.getLogger(__name__)

POLL_SECONDS = 30.0  # the SDK gives up a poll after 45 s
KEPT_AFTER_RETRIEVAL = 30.0  # an answer that was lost on its way can be asked for again
KEPT_UNASKED = 3600.0


@dataclass(eq=False)
class Promise:
    request_id: str
    session_id: str
    task: asyncio.Task[Answer]
    sequence_ids: tuple[str, ...] = ()  # of a sample: one for each sequence
    done_at: float | None = None
    retrieved_at: float | None = None


class Promises:
    """Promises by request id. A failure of the work is an answer as well: nothing raises out of a promise."""

    def __init__(self) -> None:
        self._promises: dict[str, Promise] = {}

    def __len__(self) -> int:
        return len(self._promises)

    def find(self, request_id: str) -> Promise | None:
        return self._promises.get(request_id)

    def start(
        self,
        request_id: str,
        session_id: str,
        work: Coroutine[object, object, Answer],
        sequence_ids: tuple[str, ...] = (),
    ) -> Promise:
        task = asyncio.get_running_loop().create_task(_kept(work, request_id), name=request_id)
        promise = Promise(request_id, session_id, task, sequence_ids)
        task.add_done_callback(lambda _: setattr(promise, "done_at", time.monotonic()))
        self._promises[request_id] = promise
        return promise

    async def wait(self, promise: Promise, seconds: float = POLL_SECONDS) -> Answer | None:
        """The answer, or None where the work still goes on: ask again."""
        done, _ = await asyncio.wait({promise.task}, timeout=seconds)
        if not done:
            return None
        promise.retrieved_at = time.monotonic()
        if promise.task.cancelled():
            return failed_answer("the request was cancelled", "user")
        return promise.task.result()

    def cancel(self, request_id: str) -> None:
        if promise := self._promises.pop(request_id, None):
            promise.task.cancel()

    def drop_session(self, session_id: str) -> None:
        for promise in [promise for promise in self._promises.values() if promise.session_id == session_id]:
            self.cancel(promise.request_id)

    def sweep(self, now: float) -> None:
        """Free what was retrieved, and what nobody came for."""
        for promise in list(self._promises.values()):
            retrieved, done = promise.retrieved_at, promise.done_at
            if (retrieved is not None and now - retrieved > KEPT_AFTER_RETRIEVAL) or (
                done is not None and now - done > KEPT_UNASKED
            ):
                del self._promises[promise.request_id]


async def _kept(work: Coroutine[object, object, Answer], request_id: str) -> Answer:
    try:
        return await work
    except EngineError as error:
        return failed_answer(str(error), "user")
    except Exception as error:
        log.exception("request %s failed", request_id)
        return failed_answer(f"the server failed at this request: {type(error).__name__}: {error}", "server")

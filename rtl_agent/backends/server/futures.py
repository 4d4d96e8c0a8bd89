"""Futures by request id, as the SDK polls them: work under way, its payload, and how long each is kept."""

import asyncio
import json
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Literal

from rtl_agent.backends.engine.contract import EngineError

JSON = "application/json"
PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True)
class Payload:
    body: bytes
    content_type: str = JSON


def json_payload(content: Mapping[str, object]) -> Payload:
    return Payload(json.dumps(content).encode())


def error_payload(sentence: str, category: Literal["user", "server"]) -> Payload:
    """The SDK raises RequestFailedError with this sentence: it is a result, so it travels with status 200."""
    return json_payload({"error": sentence, "category": category})


log = logging.getLogger(__name__)

POLL_SECONDS = 30.0  # the SDK gives up a poll after 45 s
KEPT_AFTER_RETRIEVAL = 30.0  # a response that was lost on its way can be asked for again
KEPT_UNASKED = 3600.0


@dataclass(eq=False)
class RequestFuture:
    request_id: str
    session_id: str
    task: asyncio.Task[Payload]
    sequence_ids: tuple[str, ...] = ()  # of a sample: one for each sequence
    done_at: float | None = None
    retrieved_at: float | None = None


class RequestFutures:
    """By request id. A failure of the work is a payload as well: no future raises."""

    def __init__(self) -> None:
        self._futures: dict[str, RequestFuture] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def find(self, request_id: str) -> RequestFuture | None:
        return self._futures.get(request_id)

    def start(
        self,
        request_id: str,
        session_id: str,
        work: Coroutine[object, object, Payload],
        sequence_ids: tuple[str, ...] = (),
    ) -> RequestFuture:
        task = asyncio.get_running_loop().create_task(_kept(work, request_id), name=request_id)
        future = RequestFuture(request_id, session_id, task, sequence_ids)
        task.add_done_callback(lambda _: setattr(future, "done_at", time.monotonic()))
        self._futures[request_id] = future
        return future

    async def wait(self, future: RequestFuture, seconds: float = POLL_SECONDS) -> Payload | None:
        """The payload, or None if the work is still running: poll again."""
        done, _ = await asyncio.wait({future.task}, timeout=seconds)
        if not done:
            return None
        future.retrieved_at = time.monotonic()
        if future.task.cancelled():
            return error_payload("the request was cancelled", "user")
        return future.task.result()

    def cancel(self, request_id: str) -> None:
        if future := self._futures.pop(request_id, None):
            future.task.cancel()

    def drop_session(self, session_id: str) -> None:
        for future in [future for future in self._futures.values() if future.session_id == session_id]:
            self.cancel(future.request_id)

    def sweep(self, now: float) -> None:
        """Frees what was retrieved, and what nobody retrieved for long."""
        for future in list(self._futures.values()):
            retrieved, done = future.retrieved_at, future.done_at
            if (retrieved is not None and now - retrieved > KEPT_AFTER_RETRIEVAL) or (
                done is not None and now - done > KEPT_UNASKED
            ):
                del self._futures[future.request_id]


async def _kept(work: Coroutine[object, object, Payload], request_id: str) -> Payload:
    try:
        return await work
    except EngineError as error:
        return error_payload(str(error), "user")
    except Exception as error:
        log.exception("request %s failed", request_id)
        return error_payload(f"the server failed at this request: {type(error).__name__}: {error}", "server")

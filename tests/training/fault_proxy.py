"""A proxy on loopback, between the SDK and a server, that does what networks do: late, full, broken.

Which request meets which fault is drawn by a seed, at most so many times, and counted by kind. A connection that breaks
*after* the server has done the work is the one that counts: whoever asks again must not be served twice.
"""

import asyncio
import queue
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import aiohttp
from aiohttp import web

Fault = Literal["slow", "429", "503", "broken before", "broken after", "broken in half"]
FAULTS: tuple[Fault, ...] = ("slow", "429", "503", "broken before", "broken after", "broken in half")
SLOW_SECONDS = 0.5
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "content-encoding"}
# Without them nothing is sampled or trained; the others are asked once or for their own sake.
WORK = ("asample", "forward_backward", "optim_step", "save_weights", "create_sampling_session", "retrieve_future")


@dataclass
class FaultProxy:
    """`budget` faults in all, each at a request of its own with this chance; `done` counts them by kind and request."""

    upstream: str
    budget: int
    seed: int = 0
    chance: float = 0.25
    kinds: Sequence[Fault] = FAULTS
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    url: str = ""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._left = [kind for kind in self.kinds for _ in range(-(-self.budget // len(self.kinds)))][: self.budget]
        self._chance.shuffle(self._left)

    @property
    def total(self) -> int:
        return self.done.total()

    def _fault(self, path: str) -> Fault | None:
        name = path.rpartition("/")[2]
        if not name.startswith(WORK) or not self._left or self._chance.random() > self.chance:
            return None
        fault = self._left.pop()
        self.done[fault, name] += 1
        return fault

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        fault = self._fault(request.path)
        if fault == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        if fault == "429":
            return web.json_response({"error": "too many requests"}, status=429, headers={"Retry-After": "0"})
        if fault == "503":
            return web.json_response({"error": "no worker is free"}, status=503)
        if fault == "broken before":
            return self._broken(request)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        async with self._client.request(
            request.method, f"{self.upstream}{request.path_qs}", data=body, headers=headers
        ) as answer:
            said = await answer.read()
            headers = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
            if fault == "broken after":
                return self._broken(request)
            if fault == "broken in half" and len(said) > 1:
                half = web.StreamResponse(status=answer.status, headers=headers)
                half.content_length = len(said)
                await half.prepare(request)
                await half.write(said[: len(said) // 2])
                return self._broken(request)
            return web.Response(body=said, status=answer.status, headers=headers)

    @staticmethod
    def _broken(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def serve(self, ready: "queue.SimpleQueue[int]", stop: asyncio.Event) -> None:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(timeout=timeout, auto_decompress=True) as self._client:
            await site.start()
            ready.put(runner.addresses[0][1])
            await stop.wait()
            await runner.cleanup()


@contextmanager
def faulty(upstream: str, budget: int, **options: object) -> Iterator[FaultProxy]:
    """In a thread of its own; ends with the block."""
    proxy = FaultProxy(upstream, budget, **options)  # type: ignore[arg-type]  # the fields above
    ready: queue.SimpleQueue[int] = queue.SimpleQueue()
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        await proxy.serve(ready, stop)

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="fault proxy", daemon=True)
    thread.start()
    proxy.url = f"http://127.0.0.1:{ready.get(timeout=30)}"
    try:
        yield proxy
    finally:
        for loop, stop in stops:
            loop.call_soon_threadsafe(stop.set)
        thread.join(30)

"""Grade servers for tests: in this process and event loop, or as the command in a process of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import aiohttp

from rtl_agent.problems import Problem
from rtl_agent.service.app import Key, Settings, serve

KEY = "a-key-that-is-only-for-tests-0123456789"


@asynccontextmanager
async def serving(problems: Sequence[Problem] = (), **options: Any) -> AsyncIterator[str]:
    """A server in this event loop, with boxes of this process. Yields its URL."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    settings = Settings(Key(KEY), **{"jobs": 2, "grace_seconds": 0.1, **options})
    task = asyncio.create_task(serve(problems, settings, ready=ready.set_result, stop=stop))
    either: set[asyncio.Future[Any]] = {task, ready}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    try:
        yield f"http://127.0.0.1:{ready.result()}"
    finally:
        stop.set()
        await task


@asynccontextmanager
async def session(key: str = KEY) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as opened:
        yield opened


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Command:
    """`rtl-agent grade-server` in a process of its own."""

    def __init__(self, *arguments: str, port: int = 0, cache: Path | None = None) -> None:
        cached = [] if cache else ["--no-cache"]
        self._command = [sys.executable, "-m", "rtl_agent.cli.main", "grade-server", *arguments, *cached]
        self._environ = {**os.environ, "RTL_AGENT_GRADE_KEY": KEY}
        if cache:
            self._environ["XDG_CACHE_HOME"] = str(cache)
        self.port = port
        self.printed = ""
        self.start()

    def start(self) -> None:
        """On the port that it had before."""
        self.process = subprocess.Popen(
            [*self._command, "--port", str(self.port)],
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        assert self.process.stderr
        first = self.process.stdout.readline()
        if not first:
            raise AssertionError(self.process.stderr.read())
        self.printed = first + "".join(self.process.stdout.readline() for _ in range(3))
        self.url = first.split()[1]
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def __enter__(self) -> "Command":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()

    def ask(self, path: str, body: Any = None, *, method: str | None = None, **headers: str) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        usual = {"Authorization": f"Bearer {KEY}", **({"Content-Type": "application/json"} if data else {})}
        request = Request(self.url + path, data, {**usual, **headers}, method=method)
        try:
            with urlopen(request, timeout=120) as response:
                return Answer(response.status, dict(response.headers), response.read())
        except HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read())

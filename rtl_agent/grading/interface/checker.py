"""The interface stage: one box with a pyslang worker in it, asked over a private socket, replaced when it fails."""

import asyncio
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.grading.interface.actual import ActualInterface, parse_answer
from rtl_agent.grading.interface.compare import InterfaceReport, compare, join
from rtl_agent.grading.interface.expected import ExpectedInterface
from rtl_agent.sandbox.protocol import MIB, BoxSpec, CommandResult, Limits, Mount, Sandbox, SandboxError

WORKER = Path(__file__).with_name("worker.py")
WORKER_INSIDE = "/code/worker.py"
HDL = (".sv", ".v", ".svh", ".vh")
START_SECONDS = 60.0  # 0.2 s on an idle machine
LIFE_SECONDS = 7 * 24 * 3600.0  # poll() inside a box counts milliseconds in 31 bits: 24 days at most
MAX_ANSWER = 16 * MIB
MAX_TEXT = 16 * MIB  # of all files together; more is not read


@dataclass(frozen=True)
class Reading:
    """What was read of a design; `note` says why where nothing was."""

    interface: ActualInterface | None
    note: str = ""


class WorkerFailed(Exception):
    """The worker died, hung or answered nonsense."""


class InterfaceChecker:
    """Holds one slot of the sandbox while its worker lives. One request at a time; it never decides an outcome."""

    def __init__(self, sandbox: Sandbox, mounts: Sequence[Mount], python: str, *, deadline: float = 10.0) -> None:
        """`python` is the interpreter with pyslang, as the box sees it; `mounts` bring it there."""
        self._sandbox, self._mounts, self._python = sandbox, tuple(mounts), python
        self._deadline = deadline
        self._turn = asyncio.Lock()
        self._channel: socket.socket | None = None
        self._life: asyncio.Task[CommandResult] | None = None

    async def check(self, expected: Sequence[ExpectedInterface], files: Mapping[str, str]) -> InterfaceReport:
        """What the design's files have of what a harness needs. `files` are the workspace's: path -> text."""
        if not expected:
            return InterfaceReport(None, note="the harness does not tell which interface it needs")
        reports = []
        for one in expected:
            reading = await self.read(files, one.top)
            reports.append(compare(one, reading.interface, note=reading.note))
        return join(reports)

    async def read(self, files: Mapping[str, str], top: str) -> Reading:
        """The interface of `top`, within the deadline."""
        sources = {path: text for path, text in files.items() if path.endswith(HDL)}
        if sum(map(len, sources.values())) > MAX_TEXT:
            return Reading(None, f"the files have more than {MAX_TEXT // MIB} MiB")
        async with self._turn:
            try:
                answer = await self._ask({"files": sources, "top": top, "deadline": self._deadline * 0.9})
                return (
                    Reading(parse_answer(top, answer)) if "error" not in answer else Reading(None, str(answer["error"]))
                )
            except (WorkerFailed, ValueError) as error:
                await self._end()
                return Reading(None, str(error))
            except BaseException:
                await self._end()  # an answer that nobody waits for would be taken for the next one's
                raise

    async def aclose(self) -> None:
        async with self._turn:
            await self._end()

    async def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._life is None or self._life.done():
            await self._end()
            await self._start()
        assert self._channel is not None
        data = json.dumps(request).encode()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._deadline):
                await loop.sock_sendall(self._channel, len(data).to_bytes(4, "big") + data)
                return await self._receive()
        except TimeoutError as error:
            raise WorkerFailed(f"no answer within {self._deadline:g} s") from error
        except OSError as error:
            raise WorkerFailed(f"the worker is gone: {error}") from error

    async def _receive(self) -> Mapping[str, Any]:
        assert self._channel is not None
        size = int.from_bytes(await self._exactly(4), "big")
        if size > MAX_ANSWER:
            raise WorkerFailed(f"an answer of {size} bytes")
        try:
            answer = json.loads(await self._exactly(size))
        except RecursionError as error:
            raise WorkerFailed("an answer nested too deeply") from error
        if not isinstance(answer, dict):
            raise WorkerFailed("an answer that is no object")
        return answer

    async def _exactly(self, size: int) -> bytes:
        assert self._channel is not None
        loop = asyncio.get_running_loop()
        data = bytearray()
        while len(data) < size:
            chunk = await loop.sock_recv(self._channel, min(1 << 20, size - len(data)))
            if not chunk:
                raise WorkerFailed("the worker ended" + await self._last_words())
            data += chunk
        return bytes(data)

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._channel = ours
        self._life = asyncio.create_task(self._live(theirs))
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._receive()  # the worker says that it is ready
        except TimeoutError as error:
            raise WorkerFailed(f"the worker did not start within {START_SECONDS:g} s") from error

    async def _live(self, theirs: socket.socket) -> CommandResult:
        """From the opening of the box to its end. Cancelling ends it."""
        fd = theirs.fileno()
        spec = BoxSpec(mounts=self._mounts, disk_bytes=16 * MIB, processes=16)
        try:
            async with self._sandbox.open(spec, pass_fds=[fd]) as box:
                theirs.close()
                await box.write(WORKER_INSIDE, WORKER.read_bytes())
                limits = Limits(wall_seconds=LIFE_SECONDS, cpu_seconds=LIFE_SECONDS, keep_bytes=4096)
                argv = [self._python, "-I", WORKER_INSIDE, str(fd)]
                return await box.run(argv, env={"PATH": "/usr/bin:/bin"}, limits=limits, pass_fds=[fd])
        finally:
            theirs.close()

    async def _last_words(self) -> str:
        """What the worker printed before it ended, or why its box failed."""
        if self._life is None:
            return ""
        with suppress(TimeoutError, asyncio.CancelledError):
            try:
                result = await asyncio.wait_for(asyncio.shield(self._life), 2.0)
            except SandboxError as error:
                return f": {error}"
            lines = result.stderr.decode(errors="replace").strip().splitlines()
            return f" with exit code {result.exit_code}" + (f": {lines[-1][:300]}" if lines else "")
        return ""

    async def _end(self) -> None:
        life, self._life = self._life, None
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if life is not None:
            life.cancel()
            with suppress(asyncio.CancelledError, SandboxError):
                await life

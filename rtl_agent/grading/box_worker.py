"""A program that lives in a box and is asked over a private socket: the warm harness, and the interface checker.

Both ways a message is a JSON object after its length in four bytes. The program says one when it is ready; after that,
one answer follows each question.
"""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rtl_agent.sandbox import MIB, BoxSpec, CommandResult, Limits, Sandbox, SandboxError

START_SECONDS = 60.0  # 0.2 to 0.6 s on an idle machine
LIFE_SECONDS = 7 * 24 * 3600.0  # poll() inside a box counts milliseconds in 31 bits: 24 days at most
MAX_ANSWER = 64 * MIB


class WorkerFailed(Exception):
    """The worker died, hung or answered nonsense. It is to be closed."""


@dataclass(frozen=True)
class WorkerProgram:
    """What a worker is: its box, and the command that is told the socket's descriptor."""

    spec: BoxSpec
    argv: Callable[[int], Sequence[str]]
    env: Mapping[str, str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()  # other descriptors that it inherits
    keep_bytes: int = 16384  # of what it prints
    max_answer: int = MAX_ANSWER


class BoxWorker:
    """One question at a time. Whoever is cancelled while asking closes it: the answer would be taken for the next."""

    def __init__(self, sandbox: Sandbox, program: WorkerProgram) -> None:
        self._sandbox, self._program = sandbox, program
        self._socket: socket.socket | None = None
        self._life: asyncio.Task[CommandResult] | None = None
        self._opened = asyncio.Event()

    @property
    def alive(self) -> bool:
        return self._life is not None and not self._life.done()

    async def start(self) -> None:
        """Open the box and wait until the program is ready."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._socket, self._life = ours, asyncio.create_task(self._live(theirs))
        opened = asyncio.create_task(self._opened.wait())
        # Not counted: a box may have to wait for its turn, and the first one of a sandbox can take long to make.
        try:
            await asyncio.wait((opened, self._life), return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._receive()
        except TimeoutError as error:
            raise WorkerFailed(f"the worker did not start within {START_SECONDS:g} s") from error

    async def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a question, within so many seconds."""
        assert self._socket is not None
        data = json.dumps(question).encode()
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().sock_sendall(self._socket, len(data).to_bytes(4, "big") + data)
                return await self._receive()
        except TimeoutError as error:
            raise WorkerFailed(f"no answer within {seconds:g} s") from error
        except OSError as error:
            raise WorkerFailed(f"the worker is gone: {error}") from error

    async def aclose(self) -> None:
        """End the program and its box; once is enough."""
        life, self._life = self._life, None
        ours, self._socket = self._socket, None
        if ours is not None:
            ours.close()
        if life is not None:
            life.cancel()
            with suppress(asyncio.CancelledError, SandboxError):
                await life

    async def _live(self, theirs: socket.socket) -> CommandResult:
        """From the opening of the box to its end. Cancelling ends it."""
        program, fd = self._program, theirs.fileno()
        handed_over = (fd, *program.pass_fds)
        try:
            async with self._sandbox.open(program.spec, pass_fds=handed_over) as box:
                theirs.close()
                self._opened.set()
                for path, data in program.files.items():
                    await box.write(path, data)
                limits = Limits(wall_seconds=LIFE_SECONDS, cpu_seconds=LIFE_SECONDS, keep_bytes=program.keep_bytes)
                return await box.run(program.argv(fd), env=program.env, limits=limits, pass_fds=handed_over)
        finally:
            theirs.close()

    async def _receive(self) -> dict[str, Any]:
        size = int.from_bytes(await self._exactly(4), "big")
        if size > self._program.max_answer:
            raise WorkerFailed(f"an answer of {size} bytes")
        try:
            answer = json.loads(await self._exactly(size))
        except RecursionError as error:
            raise WorkerFailed("an answer nested too deeply") from error
        except ValueError as error:
            raise WorkerFailed(f"an answer that is not valid JSON: {error}") from error
        if not isinstance(answer, dict):
            raise WorkerFailed("an answer that is not a JSON object")
        return answer

    async def _exactly(self, size: int) -> bytes:
        assert self._socket is not None
        loop, data = asyncio.get_running_loop(), bytearray()
        while len(data) < size:
            chunk = await loop.sock_recv(self._socket, min(1 << 20, size - len(data)))
            if not chunk:
                raise WorkerFailed("the worker ended" + await self._last_words())
            data += chunk
        return bytes(data)

    async def _last_words(self) -> str:
        """What the program printed before it ended, or why its box failed."""
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

"""An open box: asks its init to run commands, to write and to read files."""

import asyncio
import errno
import math
import os
from collections.abc import Coroutine, Mapping, Sequence
from typing import Protocol, TypeVar

from rtl_agent.sandbox._process import Channel, ChannelClosed
from rtl_agent.sandbox.protocol import MIB, BoxSpec, CommandResult, Ended, Limits, SandboxError

GRACE_SECONDS = 30.0  # for an init on a loaded machine to kill, reap and answer; 256 busy processes took it 0.3 s
COPY_SECONDS = 120.0
T = TypeVar("T")


class InitProcess(Protocol):
    """What has started a box's init and can end it."""

    channel: Channel
    init_pid: int

    def kill(self) -> None: ...

    def said(self) -> str: ...

    async def end(self) -> str: ...


class InitBox:
    """A box whose pid 1 is our own init, whoever started that."""

    def __init__(self, process: InitProcess, spec: BoxSpec, fds: tuple[int, ...], processes: int) -> None:
        """`processes` of the box's uid at once, its init included where that has the same uid; 0: not limited."""
        self._process, self._spec, self._fds = process, spec, fds
        self._processes = processes
        self._turn = asyncio.Lock()
        self._over = ""

    @property
    def init_pid(self) -> int:
        """The host's pid of the box's pid 1."""
        return self._process.init_pid

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        limits: Limits | None = None,
        pass_fds: Sequence[int] = (),
    ) -> CommandResult:
        limits = limits or Limits()
        if not argv:
            raise ValueError("an empty command")
        if not set(pass_fds) <= set(self._fds):
            raise ValueError(
                f"fds {sorted(set(pass_fds) - set(self._fds))} were not handed over when the box was opened"
            )
        watched = (
            f"{limits.wall_seconds} {limits.all_cpu_seconds} {limits.output_bytes} {limits.keep_bytes} {len(stdin)}"
        )
        cpu_seconds = max(1, math.ceil(limits.cpu_seconds))
        limited = f"{cpu_seconds} {limits.file_bytes} {self._spec.memory_bytes} {self._processes} {len(argv)}"
        environment = [f"{name}={value}" for name, value in (env or {}).items()]
        texts = [watched, limited, " ".join(map(str, pass_fds)), cwd, *argv, *environment]
        async with self._turn:
            fields = [b"run", *map(os.fsencode, texts)]
            kind, *answer = await self._ask(fields, stdin, limits.wall_seconds + GRACE_SECONDS)
        if kind != b"done":
            raise SandboxError(f"the command could not be run: {answer[0].decode(errors='replace')}")
        code, cut, wall, cpu, rss = answer[1].split()
        return CommandResult(
            ended=Ended(answer[0].decode()),
            exit_code=int(code),
            stdout=answer[2],
            stderr=answer[3],
            truncated=cut == b"1",
            wall_seconds=float(wall),
            cpu_seconds=float(cpu),
            max_rss_bytes=int(rss),
        )

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        name = _absolute(path)
        async with self._turn:
            kind, *answer = await self._ask([b"write", name, b"%d" % mode, b"%d" % len(data)], data, COPY_SECONDS)
        if kind != b"ok":
            raise OSError(int(answer[0]), answer[1].decode(errors="replace"), path)

    async def read(self, path: str, *, max_bytes: int = 16 * MIB) -> bytes:
        name = _absolute(path)
        async with self._turn:
            kind, *answer = await self._ask([b"read", name, b"%d" % max_bytes], b"", COPY_SECONDS)
            if kind == b"ok":
                return await self._guard(self._process.channel.receive_raw(int(answer[0])), COPY_SECONDS)
        if kind == b"unfit":
            raise ValueError(f"{path}: {answer[0].decode()}")
        number, text = int(answer[0]), answer[1].decode(errors="replace")
        if number in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise FileNotFoundError(number, text, path)
        raise ValueError(f"{path}: {text}")

    async def close(self) -> None:
        self._over = self._over or "the box is closed"
        await self._process.end()

    def leave(self) -> bool:
        """No more calls; whether its init may go on, because nothing was interrupted and nothing is under way."""
        usable = not self._over and not self._turn.locked()
        self._over = self._over or "the box is closed"
        return usable

    async def _ask(self, fields: Sequence[bytes], raw: bytes, seconds: float) -> list[bytes]:
        if self._over:
            raise SandboxError(self._over)
        return await self._guard(self._exchange(fields, raw), seconds)

    async def _exchange(self, fields: Sequence[bytes], raw: bytes) -> list[bytes]:
        await self._process.channel.send(fields, raw)
        return await self._process.channel.receive()

    async def _guard(self, work: Coroutine[None, None, T], seconds: float) -> T:
        """Half an exchange leaves a box out of step: whatever interrupts one ends the box."""
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            self._over = "the box did not answer in time"
            self._process.kill()
            raise SandboxError(self._over) from error
        except ChannelClosed as error:
            self._over = f"the box died: {self._process.said() or error}"
            self._process.kill()
            raise SandboxError(self._over) from error
        except BaseException:
            self._over = "the box ended when a call to it was cancelled"
            self._process.kill()
            raise


def _absolute(path: str) -> bytes:
    if not path.startswith("/") or path.endswith("/") or "\0" in path:
        raise ValueError(f"{path!r} is not the absolute path of a file")
    return os.fsencode(path)


async def to_the_end(work: Coroutine[None, None, T]) -> T:
    """Finish `work` even if the caller is cancelled meanwhile; the cancellation comes after."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            break
    if cancelled:
        raise cancelled
    return task.result()

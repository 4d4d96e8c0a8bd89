"""One bubblewrap process and the init inside it: its Python and code, the socket to it, start, kill, wait."""

import asyncio
import functools
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rtl_agent.sandbox import _inside
from rtl_agent.sandbox._inside.wire import pack, unpack
from rtl_agent.sandbox.protocol import MIB, Mount, SandboxError

USUAL = Path("/usr/bin/python3")


def find_python(wanted: Path | None) -> tuple[Path, tuple[Mount, ...]]:
    """`wanted`, else the system's, else the one this process runs on. /usr is in every box, other prefixes are not."""
    base = Path(getattr(sys, "_base_executable", None) or sys.executable)
    python = wanted or (USUAL if USUAL.exists() else base)
    if python.is_relative_to("/usr"):
        return python, ()
    real = python.resolve()
    prefix = real.parent.parent
    return real, (Mount(prefix, str(prefix)),)


MODULES = ("wire", "files", "program", "command", "main")  # each after those it imports
COMPILE = """
import marshal, sys
codes = []
for name, path in zip(sys.argv[1::2], sys.argv[2::2]):
    with open(path, "rb") as file:
        codes.append((name, compile(file.read(), name, "exec", dont_inherit=True, optimize=0)))
sys.stdout.buffer.write(marshal.dumps(codes))
"""
# Runs in the box. The last module is the program; modules found in sys.modules need no files and no parent packages.
START = """
import marshal, os, sys
for name, code in marshal.loads(os.read({fd}, {size})):
    module = sys.modules[name] = type(sys)(name)
    exec(code, module.__dict__)
module.main(sys.argv[1:])
"""


@functools.cache
def compiled(python: Path, modules: tuple[str, ...] = MODULES) -> bytes:
    """Compiled outside the box: `python` is trusted, it runs the init."""
    folder = Path(_inside.__file__).parent
    names = [part for name in modules for part in (f"{_inside.__name__}.{name}", str(folder / f"{name}.py"))]
    try:
        made = subprocess.run(
            [python, "-I", "-S", "-c", COMPILE, *names], capture_output=True, check=True, timeout=60, env={}
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", b"") or b"").decode(errors="replace")
        raise SandboxError(f"{python} cannot compile the box's init: {error} {said}") from error
    return made.stdout


GONE_SECONDS = 10.0
MOST_FRAME = 256 * MIB  # a reply carries at most two kept streams; more means that the other end is not our init


def sources() -> list[tuple[bytes, bytes]]:
    """The init of a container, module by module: the Python that runs it may be of another version than ours."""
    folder = Path(_inside.__file__).parent
    names = (*MODULES, "container")
    return [(f"{_inside.__name__}.{name}".encode(), (folder / f"{name}.py").read_bytes()) for name in names]


class ChannelClosed(Exception):
    """The init is gone, or what it sent is not a frame of ours."""


class Channel:
    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = asyncio.get_running_loop()

    async def send(self, fields: Sequence[bytes], raw: bytes = b"") -> None:
        try:
            await self._loop.sock_sendall(self._sock, pack(fields))
            if raw:
                await self._loop.sock_sendall(self._sock, raw)
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    async def receive(self) -> list[bytes]:
        size = int.from_bytes(await self.receive_raw(4), "little")
        if size > MOST_FRAME:
            raise ChannelClosed(f"a frame of {size} bytes")
        return unpack(await self.receive_raw(size))

    async def receive_raw(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            try:
                count = await self._loop.sock_recv_into(self._sock, view)
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not count:
                raise ChannelClosed("the box closed the connection")
            view = view[count:]
        return bytes(data)

    def shutdown(self) -> None:
        self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()


class BoxProcess:
    def __init__(self, argv: Sequence[str], *, fds: Sequence[int], host_end: socket.socket, info: int) -> None:
        """Takes over `host_end` and `info`. The environment is empty: bubblewrap's own could be read in the box."""
        self._info, self._init, self._exit, self.init_pid = info, -1, -1, 0
        self._told = b""
        self._errors = os.memfd_create("bwrap-stderr")
        self.channel = Channel(host_end)
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                # `info` too: without a reader its pipe would kill bubblewrap when this process dies during the setup,
                # and bubblewrap's child would wait for it forever (14 of 200 boxes).
                pass_fds=[*fds, info],
                env={},
                cwd="/",
                start_new_session=True,  # an interrupt at the terminal is for the host alone
            )
            self._exit = os.pidfd_open(self._process.pid)
        except BaseException:
            self._release()
            raise

    def learn_init(self) -> int:
        """A pidfd of the init, or -1. The pid comes in one piece, what follows it in more."""
        if self._init < 0:
            os.set_blocking(self._info, False)
            with suppress(BlockingIOError):
                while piece := os.read(self._info, 4096):
                    self._told += piece
            if found := re.search(rb'"child-pid": (\d+)', self._told):
                self._hold(int(found[1]))
        return self._init

    def _hold(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            if _ready(self._exit):
                os.close(pidfd)  # bubblewrap has reaped the init and ended: the pid may be somebody else's by now
            else:
                self._init, self.init_pid = pidfd, pid

    def kill(self) -> None:
        """Kill the init, which takes the whole pid namespace with it; bubblewrap then ends by itself."""
        self.learn_init()
        with suppress(ProcessLookupError):
            if self._init >= 0:
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            else:
                # Still setting up: its child, which waits for it, is in the same process group and ends with it.
                os.killpg(self._process.pid, signal.SIGKILL)

    def said(self) -> str:
        """What bubblewrap or the init printed: nothing, while all is well."""
        return os.pread(self._errors, 4096, 0).decode(errors="replace").strip()

    async def end(self) -> str:
        """Kill, wait until the last process is gone and free everything. Returns what bubblewrap said on stderr."""
        try:
            if self.learn_init() < 0:
                # Killed while it sets up, bubblewrap would leave its child waiting for it forever.
                await _readable(self._info, GONE_SECONDS)
            self.kill()
            if self._init >= 0:
                await _readable(self._init, GONE_SECONDS)  # it ends after the last process of its namespace
            if not await _readable(self._exit, GONE_SECONDS):
                self._process.kill()
                await _readable(self._exit, GONE_SECONDS)
            self._process.wait(timeout=1)
            return self.said()
        except subprocess.TimeoutExpired as error:
            raise SandboxError("a box cannot be killed: its processes hang in the kernel") from error
        finally:
            self._release()

    def _release(self) -> None:
        self.channel.close()
        for fd in (self._info, self._init, self._exit, self._errors):
            if fd >= 0:
                os.close(fd)
        self._info = self._init = self._exit = self._errors = -1


async def _readable(fd: int, seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        await asyncio.wait_for(ready, seconds)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(fd)
    return True


def _ready(fd: int) -> bool:
    poll = select.poll()  # select itself refuses fds above 1023
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))

"""One running container and the init inside it: a socket that only the init ever reaches by name, start, kill, wait."""

import asyncio
import os
import shutil
import signal
import socket
import struct
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rtl_agent.sandbox import cgroup
from rtl_agent.sandbox._process import GONE_SECONDS, Channel, ChannelClosed, _readable, sources
from rtl_agent.sandbox.container.engine import Engine
from rtl_agent.sandbox.protocol import SandboxError

START_SECONDS = 120.0  # 0.5 s on an idle machine
LOOK_SECONDS = 0.5
DOOR_INSIDE = "/opt/rtl-agent/door"
MOST_FD = 3839  # below what the init keeps for itself: the limit of open files in a box is 4096
# Connects, takes the init's source, which this Python compiles, and runs it. Modules in sys.modules need no files.
BOOT = """
import socket, sys
host = socket.socket(socket.AF_UNIX)
host.connect(sys.argv[1])
def take(size):
    data = b""
    while len(data) < size:
        more = host.recv(size - len(data))
        if not more: sys.exit(1)
        data += more
    return data
body, at, fields = take(int.from_bytes(take(4), "little")), 0, []
while at < len(body):
    size = int.from_bytes(body[at:at + 4], "little")
    fields.append(body[at + 4:at + 4 + size])
    at += 4 + size
for name, source in zip(fields[::2], fields[1::2]):
    module = sys.modules[name.decode()] = type(sys)(name.decode())
    exec(compile(source, name.decode(), "exec", dont_inherit=True, optimize=0), module.__dict__)
module.main(host)
"""


class Door:
    """A directory with the socket that a container's init connects to. It is closed before anything untrusted runs."""

    def __init__(self) -> None:
        self._parent = Path(tempfile.mkdtemp(prefix="rtl-agent-door-"))  # for nobody else
        self.directory = self._parent / "open"
        try:
            self.directory.mkdir()
            self.directory.chmod(0o755)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.setblocking(False)
            path = self.directory / "init"
            self.listener.bind(str(path))
            path.chmod(0o666)  # the container's root may be another user, and has no right to look away from modes
            self.listener.listen(1)
        except BaseException:
            shutil.rmtree(self._parent, ignore_errors=True)
            raise

    def close(self) -> None:
        self.listener.close()
        shutil.rmtree(self._parent, ignore_errors=True)


class ContainerProcess:
    """As `BoxProcess` is for bubblewrap. `container` is the engine's id of it."""

    def __init__(self, engine: Engine, container: str, connection: socket.socket) -> None:
        self._engine, self.container, self._connection = engine, container, connection
        self.channel = Channel(connection)
        self.loop = asyncio.get_running_loop()
        self.init_pid = _peer(connection)
        self._pidfd = -1
        with suppress(OSError):
            if self.init_pid:
                self._pidfd = os.pidfd_open(self.init_pid)

    async def become(self, uid: int, orders: Sequence[bytes]) -> None:
        """Send the init its code, the files it needs, and what to keep. SandboxError when it cannot be that."""
        counters = cgroup.counters_of(self.init_pid)
        owner = os.pidfd_open(os.getpid())
        try:
            await self.channel.send([part for module in sources() for part in module])
            await self._send_fds([owner, *counters])
        finally:
            for fd in (owner, *counters):
                os.close(fd)
        await self.channel.send([b"%d" % uid, *orders])
        kind, *answer = await self.channel.receive()
        if kind != b"ready":
            raise SandboxError(f"the container could not become a box: {b' '.join(answer).decode(errors='replace')}")

    async def adopt(self, fds: Sequence[int]) -> None:
        """Hand these files over, under the same numbers."""
        if any(fd > MOST_FD for fd in fds):
            raise SandboxError(f"file descriptor {max(fds)} cannot be handed to a container: close some of the others")
        await self.channel.send([b"adopt", " ".join(map(str, fds)).encode()])
        if fds:
            await self._send_fds(fds)
        if await self.channel.receive() != [b"ok"]:
            raise ChannelClosed("the init did not take its files")

    async def renew(self) -> bool:
        """Make it as a new one is; False when it cannot be."""
        await self.channel.send([b"renew"])
        return await self.channel.receive() == [b"ok"]

    async def _send_fds(self, fds: Sequence[int]) -> None:
        while True:
            try:
                socket.send_fds(self._connection, [b"f"], list(fds))
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            else:
                return

    def kill(self) -> None:
        """Kill the init, which takes the whole container with it. Where only the engine may, it hangs up, and dies."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def said(self) -> str:
        return ""

    async def end(self) -> str:
        """Kill, wait until it is gone, remove what the engine keeps of it."""
        self.kill()
        try:
            if self._pidfd >= 0:
                await _readable(self._pidfd, GONE_SECONDS)
            await asyncio.to_thread(self._engine.remove, self.container)
        finally:
            self.release()
        return ""

    def release(self) -> None:
        """Hang up; the init then ends, and the engine removes its container."""
        self.channel.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


async def start(
    engine: Engine, image: str, python: str, name: str, host: Mapping[str, Any], mounts: Sequence[Mapping[str, Any]]
) -> ContainerProcess:
    """A container whose init has connected. Nothing is left of one that does not."""
    door = Door()
    container = ""
    try:
        inside = {"Type": "bind", "Source": str(door.directory), "Target": DOOR_INSIDE, "ReadOnly": True}
        command = [python, "-I", "-S", "-c", BOOT, f"{DOOR_INSIDE}/init"]
        config = {**host, "mounts": [*mounts, inside]}
        container = await _in_thread(engine.start, image, command, name, config, undo=engine.remove)
        connection = await _accept(engine, container, door)
    except BaseException:
        if container:
            await asyncio.shield(asyncio.to_thread(engine.remove, container))
        raise
    finally:
        door.close()
    return ContainerProcess(engine, container, connection)


async def _in_thread(call: Any, *arguments: Any, undo: Any) -> str:
    """A call that cannot be cancelled: whoever is cancelled meanwhile undoes it."""
    work = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        return str(await asyncio.shield(work))
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled() and work.exception() is None:
            await asyncio.to_thread(undo, work.result())
        raise


async def _accept(engine: Engine, container: str, door: Door) -> socket.socket:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START_SECONDS
    while loop.time() < deadline:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                connection, _ = await loop.sock_accept(door.listener)
                return connection
        except TimeoutError:
            if said := await asyncio.to_thread(engine.ended, container):
                raise SandboxError(f"the box did not start: {said}") from None
    raise SandboxError(f"the box did not start within {START_SECONDS:g} s")


def _peer(connection: socket.socket) -> int:
    """The init's pid as this process sees it; 0 where it cannot."""
    size = struct.calcsize("3i")
    return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0])

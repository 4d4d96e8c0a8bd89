"""The host's end of the socket to a box's init: frames there, frames and raw bytes back."""

import asyncio
import socket
from collections.abc import Sequence

from rtl_agent.sandbox._inside.wire import pack, unpack
from rtl_agent.sandbox.protocol import MIB

MOST_FRAME = 256 * MIB  # a reply carries at most two kept streams; more means that the other end is not our init


class ChannelClosed(Exception):
    """The init is gone or talks nonsense."""


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
                raise ChannelClosed("the box hung up")
            view = view[count:]
        return bytes(data)

    def close(self) -> None:
        self._sock.close()

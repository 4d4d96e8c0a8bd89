"""The host's end of the private channel: messages that the probe sends from inside a box."""

import asyncio
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Message = dict[str, Any]

_PACKET = 1 << 18
# Far above what a process opens by itself, so that the number can be no other file in one that was not given it.
_LOWEST_FD = 200
_MOST_MESSAGES = 100_000
# A reader that wakes for each of a grade's 15 messages costs 1 ms of CPU. The socket holds some 200 of them meanwhile.
_PAUSE_SECONDS = 0.02


class Channel:
    """A SEQPACKET pair: messages cannot be mixed up, and its far end has no name that RTL could open."""

    def __init__(self, near: socket.socket, far_fd: int) -> None:
        self._near = near
        self.far_fd = far_fd
        self._messages: list[Message] = []

    def take(self) -> list[Message]:
        """Every message since the last call. Complete once the sending command has ended."""
        self._drain()
        taken, self._messages = self._messages, []
        return taken

    def _drain(self) -> None:
        while len(self._messages) < _MOST_MESSAGES:
            try:
                data = self._near.recv(_PACKET)
            except BlockingIOError:
                return
            if not data:
                return
            message = json.loads(data)
            if isinstance(message, dict):
                self._messages.append(message)


@contextmanager
def open_channel() -> Iterator[Channel]:
    """A channel that is read as it fills, so that a sender is never held up."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near.setblocking(False)
    far_fd = fcntl.fcntl(far.fileno(), fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    far.close()
    channel = Channel(near, far_fd)
    loop = asyncio.get_running_loop()
    pause: asyncio.TimerHandle | None = None

    def read() -> None:
        nonlocal pause
        channel._drain()
        loop.remove_reader(near.fileno())
        pause = loop.call_later(_PAUSE_SECONDS, loop.add_reader, near.fileno(), read)

    loop.add_reader(near.fileno(), read)
    try:
        yield channel
    finally:
        if pause is not None:
            pause.cancel()
        loop.remove_reader(near.fileno())
        near.close()
        os.close(far_fd)

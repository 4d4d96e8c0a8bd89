"""Frames between the host and a box's init: a list of byte strings, each with its length; raw bytes may follow.

Not JSON: its module imports re, and the two cost every box 12 ms of CPU.
"""

import os
import select
from collections.abc import Callable, Sequence

CHUNK = 256 * 1024


def pack(fields: Sequence[bytes]) -> bytes:
    """One frame: its length, then each field with its own length."""
    body = b"".join(len(field).to_bytes(4, "little") + field for field in fields)
    return len(body).to_bytes(4, "little") + body


def unpack(body: bytes) -> list[bytes]:
    fields, at = [], 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "little")
        fields.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return fields


class Wire:
    """The init's end of the socket to the host, and a pidfd of the host.

    When the host is gone so is the box. The socket alone would not tell: a process that the host forked may hold the
    other end. bubblewrap's --die-with-parent would not do: killed between two steps of its setup it leaves a child
    that waits forever.
    """

    def __init__(self, fd: int, owner: int) -> None:
        self.fd, self.owner = fd, owner
        self.leave: Callable[[], object] = lambda: os._exit(0)  # the kernel then kills everything inside
        os.set_blocking(fd, False)

    def receive_frame(self) -> list[bytes]:
        return unpack(self.receive(int.from_bytes(self.receive(4), "little")))

    def receive(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                data = os.read(self.fd, min(size, CHUNK))
            except BlockingIOError:
                self.wait(select.POLLIN)
                continue
            if not data:
                self.leave()  # the host has closed the box
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                self.wait(select.POLLOUT)
            except (BrokenPipeError, ConnectionResetError):
                self.leave()

    def wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self.fd, event)
        poll.register(self.owner, select.POLLIN)
        if any(fd == self.owner for fd, _ in poll.poll()):
            self.leave()

    def reply(self, fields: Sequence[bytes]) -> None:
        self.send(pack(fields))

    def refuse(self, error: OSError) -> None:
        self.reply([b"error", str(error.errno or 0).encode(), (error.strerror or str(error)).encode()])

"""Writes and reads files of a box for the host.

No process of the box is alive meanwhile, so nothing changes between a check and its use.
"""

# ruff: noqa: PTH103, PTH108, PTH120  (pathlib would add 9 ms of CPU to every box)

import os

from rtl_agent.sandbox._inside.wire import CHUNK, Wire

ENOSPC = 28
LONGEST_POLL = 3600.0  # seconds; poll takes its time as a C int of milliseconds


class DiskWatch:
    """Whether the box's files are more than they may be. A tmpfs of limited size needs nobody who looks."""

    pause = LONGEST_POLL  # seconds between two looks

    def exceeded(self, now: bool = False) -> bool:
        return False

    def nearly_full(self) -> bool:
        """Whether the filesystem that boxes share is, so that no command can be judged."""
        return False

    def has_room(self, path: bytes, size: int) -> bool:
        return True


def write(wire: Wire, path: bytes, mode: int, size: int, room: DiskWatch) -> None:
    """Replace what has this name: a link, fifo or read-only file of a command must neither redirect nor block."""
    left = size
    try:
        if not room.has_room(path, size):
            raise OSError(ENOSPC, "no space left in the box")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            while left:
                data = wire.receive(min(left, CHUNK))
                left -= len(data)
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
            os.fchmod(fd, mode)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(fd)
    except OSError as error:
        while left:
            left -= len(wire.receive(min(left, CHUNK)))
        wire.refuse(error)
    else:
        wire.reply([b"ok"])


def read(wire: Wire, path: bytes, limit: int) -> None:
    try:
        fd = open_without_links(path)
    except OSError as error:
        return wire.refuse(error)
    status = os.fstat(fd)
    if status.st_mode & 0o170000 != 0o100000:
        wire.reply([b"unfit", b"not a regular file"])
    elif status.st_size > limit:
        wire.reply([b"unfit", b"%d bytes, more than the %d asked for" % (status.st_size, limit)])
    else:
        wire.reply([b"ok", b"%d" % status.st_size])
        stream(wire, fd, status.st_size)
    os.close(fd)


def stream(wire: Wire, fd: int, size: int) -> None:
    while size:
        data = os.read(fd, min(size, CHUNK))
        if not data:
            os._exit(1)  # the host waits for bytes that are not there: only hanging up is left
        wire.send(data)
        size -= len(data)


def open_without_links(path: bytes) -> int:
    """A link anywhere on the way is refused; a fifo does not block, a device is not opened for good."""
    parts = [part for part in path.split(b"/") if part]
    fd = os.open("/", os.O_PATH | os.O_DIRECTORY)
    for part in parts[:-1]:
        try:
            inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    if not parts:
        return fd
    try:
        if os.stat(parts[-1], dir_fd=fd, follow_symlinks=False).st_mode & 0o170000 != 0o100000:
            return os.open(parts[-1], os.O_PATH | os.O_NOFOLLOW, dir_fd=fd)
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=fd)
    finally:
        os.close(fd)

"""One unprivileged host uid per open box, never shared by two processes.

RLIMIT_NPROC counts per uid: 8 jobs at once on one uid lost 39 of 150 results, one uid per job lost none.
"""

import fcntl
import os
import stat
import tempfile
from pathlib import Path

from rtl_agent.sandbox.protocol import SandboxError

FIRST_UID = 47000
UIDS = 900


def state_directory() -> Path:
    """A directory of root's that every process of this machine agrees on."""
    run = Path("/run")
    place = run / "rtl-agent" if os.access(run, os.W_OK) else Path(tempfile.gettempdir()) / "rtl-agent-root"
    if not place.exists():
        place.mkdir(mode=0o700, exist_ok=True)
        place.chmod(0o711)  # whatever the umask: slots pass through it to what is staged
    status = place.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o022:
        raise SandboxError(f"{place} is not a directory that only root can write: remove it")
    return place


class Slots:
    """Uids this process holds. A uid once taken is kept for the next box; the kernel frees it when the process dies."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._locks: dict[int, int] = {}
        self._free: list[int] = []

    def take(self) -> int | None:
        """A uid, or None when other processes hold them all."""
        if self._owner != os.getpid():  # forked: the parent goes on using what it holds
            self._owner, self._locks, self._free = os.getpid(), {}, []
        if self._free:
            return self._free.pop()
        place = state_directory()
        for uid in range(FIRST_UID, FIRST_UID + UIDS):
            if uid in self._locks:
                continue
            fd = os.open(place / f"uid-{uid}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            self._locks[uid] = fd
            return uid
        return None

    def give_back(self, uid: int) -> None:
        self._free.append(uid)


SLOTS = Slots()  # of the whole process, so that uids and their lock files do not add up with each sandbox made

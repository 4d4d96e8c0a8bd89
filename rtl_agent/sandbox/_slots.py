"""One unprivileged host uid per open box, never shared by two processes; mount sources that this uid can reach.

RLIMIT_NPROC counts per uid: 8 jobs at once on one uid lost 39 of 150 results, one uid per job lost none.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
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


# In a mount namespace of its own, so that nothing can be left mounted.
# Arguments: stage, uid, number of sources, the sources, the command.
SCRIPT = """
set -e
stage=$1 uid=$2 count=$3
shift 3
mount -t tmpfs -o mode=0755,size=1m none "$stage"
number=0
while [ "$number" -lt "$count" ]; do
    if [ -d "$1" ]; then mkdir "$stage/$number"; else : > "$stage/$number"; fi
    mount --bind -- "$1" "$stage/$number"
    number=$((number + 1))
    shift
done
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
"""


def reachable(path: Path, uid: int) -> bool:
    """May `uid`, in no group but its own, enter every directory above `path`?"""
    return all(_allows(parent, uid, stat.S_IXOTH) for parent in path.parents)


def readable(path: Path, uid: int) -> bool:
    return _allows(path, uid, stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0))


def _allows(path: Path, uid: int, wanted: int) -> bool:
    status = path.stat()
    mode = status.st_mode
    if status.st_uid == uid:
        mode >>= 6
    elif status.st_gid == uid:
        mode >>= 3
    return mode & wanted == wanted


def resolve(sources: Iterable[Path]) -> dict[Path, Path]:
    """Where each source really is."""
    found = {}
    for source in sources:
        try:
            found[source] = source.resolve(strict=True)
        except OSError as error:
            raise SandboxError(f"mount source {source} cannot be found: {error.strerror}") from error
    return found


def ensure_readable(sources: Mapping[Path, Path], uid: int) -> None:
    for source, real in sources.items():
        if not readable(real, uid):
            raise SandboxError(
                f"mount source {source} cannot be read by the sandbox's user: run `chmod -R o+rX {real}`, "
                "or mount a directory that everybody may read"
            )


def stage(sources: dict[Path, Path], uid: int) -> tuple[dict[Path, Path], list[str]]:
    """Where `uid` finds the sources, and the command to prefix, which becomes that user.

    `Popen(user=...)` would fork all of this process: beside 1.3 GB of memory a box took 99 ms of CPU, and takes 21 when
    a program is started, which needs no copy (scripts/measure_box_start.py).
    """
    ensure_readable(sources, uid)
    hidden = sorted({real for real in sources.values() if not reachable(real, uid)})
    missing = [tool for tool in (("unshare", "mount", "sh") if hidden else ()) if not shutil.which(tool)]
    if missing:
        raise SandboxError(f"{hidden[0]} is below a private directory, and {missing[0]} is missing: install util-linux")
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise SandboxError("setpriv is missing: run `apt-get install util-linux`")
    if not hidden:
        return sources, [setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
    place = state_directory() / "stage"
    if not place.exists():
        place.mkdir(exist_ok=True)
        place.chmod(0o755)
    staged = {real: place / str(number) for number, real in enumerate(hidden)}
    return {source: staged.get(real, real) for source, real in sources.items()}, prefix(place, uid, hidden)


def prefix(place: Path, uid: int, hidden: Sequence[Path]) -> list[str]:
    unshare, shell = shutil.which("unshare") or "unshare", shutil.which("sh") or "sh"
    arguments = [str(place), str(uid), str(len(hidden)), *map(os.fspath, hidden)]
    return [unshare, "--mount", "--propagation", "private", "--", shell, "-c", SCRIPT, "stage", *arguments]

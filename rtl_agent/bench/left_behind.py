"""What this process holds outside of its memory: processes, open files, cgroups, mounts, temporary directories."""

import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rtl_agent.processes import descendants, open_files
from rtl_agent.sandbox import cgroup


@dataclass(frozen=True)
class Belongings:
    processes: int
    open_files: int
    cgroups: int
    mounts: int
    temporary: int

    def more_than(self, before: "Belongings") -> dict[str, int]:
        old = asdict(before)
        return {name: max(0, count - old[name]) for name, count in asdict(self).items()}


def belongings() -> Belongings:
    return Belongings(len(descendants()), _open_files(), _cgroups(), _mounts(), _temporary())


def _open_files() -> int:
    """Without the lock files of uids: a process keeps those that it once had, one for each box at a time."""
    return sum("/uid-" not in name for name in open_files())


def _cgroups() -> int:
    place = cgroup.find_place()
    name = f"{cgroup.PREFIX}-{os.getpid()}-*"
    return sum(len(list(parent.glob(name))) for parent in place.parents) if place else 0


def _mounts() -> int:
    return len(Path("/proc/self/mountinfo").read_text().splitlines())


def _temporary() -> int:
    """Files in the directory for temporary files that belong to a box of this process, or have its number."""
    uids = {int(name.rpartition("-")[2]) for name in open_files() if "/uid-" in name}
    found = 0
    for path in Path(tempfile.gettempdir()).iterdir():
        with suppress(OSError):
            found += path.name.startswith(f"rtl-agent-{os.getpid()}") or path.lstat().st_uid in uids
    return found

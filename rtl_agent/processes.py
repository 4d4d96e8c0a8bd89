"""The processes below this one: who they are, the CPU they have used, the memory they hold."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def descendants(pid: int | None = None) -> list[int]:
    """Every living process below `pid`, this one if it is not given."""
    children: dict[int, list[int]] = {}
    for child, fields in _stats():
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(child)
    found, wanted = [], [os.getpid() if pid is None else pid]
    while wanted:
        for child in children.get(wanted.pop(), []):
            found.append(child)
            wanted.append(child)
    return found


def cpu_seconds_below(pids: list[int]) -> float:
    """CPU seconds of these living processes, and of their children that have ended and were waited for."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            for thread in (_PROC / str(pid) / "task").iterdir():
                total += int((thread / "schedstat").read_text().split()[0]) / 1e9
            total += sum(map(int, _fields(pid)[13:15])) * _TICK
    return total


def cpu_seconds() -> float:
    """CPU seconds of this process and of everything below it, ended or not."""
    return own_cpu_seconds() + cpu_seconds_below(descendants())


def own_cpu_seconds() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def pss_bytes(pids: list[int]) -> int:
    """Memory of these processes; a page that N of them share counts 1/N for each."""
    return sum(_kib(_PROC / str(pid) / "smaps_rollup", "Pss:") for pid in pids) * 1024


def private_bytes(pids: list[int]) -> int:
    """The part of it that no other process shares."""
    names = ("Private_Clean:", "Private_Dirty:")
    return sum(_kib(_PROC / str(pid) / "smaps_rollup", name) for pid in pids for name in names) * 1024


def own_rss_bytes() -> int:
    return _kib(_PROC / "self" / "status", "VmRSS:") * 1024


def open_files() -> list[str]:
    """What this process has open, by name."""
    found = []
    for entry in (_PROC / "self" / "fd").iterdir():
        with suppress(OSError):
            found.append(str(entry.readlink()))
    return found


def _kib(path: Path, name: str) -> int:
    with suppress(OSError):
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    return 0


def _stats() -> Iterator[tuple[int, list[str]]]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                yield int(entry.name), _fields(int(entry.name))


def _fields(pid: int) -> list[str]:
    """What /proc/PID/stat has after the name: state, parent, ..., at 13 and 14 the CPU time of ended children."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()

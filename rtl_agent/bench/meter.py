"""What a measurement reads of this machine: CPU below this process, load and versions, and what was left behind."""

import os
import platform
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rtl_agent.processes import cpu_seconds_below, descendants, open_files, own_cpu_seconds
from rtl_agent.sandbox import cgroup
from rtl_agent.toolchain import Toolchain


@dataclass(frozen=True)
class Used:
    """CPU and wall seconds of one piece of work."""

    cpu: float
    wall: float

    def per(self, count: int) -> "Used":
        return Used(self.cpu / count, self.wall / count)


class Meter:
    """Starts at once.

    CPU of a process that ends moves into the account of whoever waits for it, so the sum over a tree misses nothing and
    counts nothing twice. Living processes are read in nanoseconds, ended children of a living one in ticks of 10 ms:
    measure several grades at once where a box stays open.
    """

    def __init__(self) -> None:
        self._below = cpu_seconds_below(descendants())
        self._own, self._wall = own_cpu_seconds(), time.perf_counter()

    def stop(self) -> Used:
        wall = time.perf_counter() - self._wall
        own = own_cpu_seconds() - self._own  # first: reading /proc is our own CPU too
        return Used(own + cpu_seconds_below(descendants()) - self._below, wall)


def machine(toolchain: Toolchain) -> dict[str, Any]:
    """Taken before and after a run: the load is that of the last minute, this run's own included."""
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "host_python": platform.python_version(),
        "tools": dict(toolchain.versions()),
        "load": round(os.getloadavg()[0], 1),
    }


def in_a_sentence(before: dict[str, Any], after: dict[str, Any]) -> str:
    tools = before["tools"]
    names = ", ".join(f"{name} {tools[name]}" for name in ("iverilog", "cocotb", "pytest", "python") if name in tools)
    return f"{before['cores']} cores, load {before['load']} before and {after['load']} after; {names}."


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

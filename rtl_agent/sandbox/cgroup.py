"""Memory and process limits and the CPU time of a whole box, where this process may make cgroups.

A command enters the box's cgroup by itself just before it starts; the box's init stays outside. Otherwise a command
could fill the limit with what outlives it (a million empty files on a tmpfs are 1 GB of kernel memory), and the kernel
would kill the init.
"""

import itertools
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "rtl-agent"
_numbers = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where cgroups can be made: one parent on v2, one for each controller on v1."""

    version: int
    memory: Path
    pids: Path
    cpu: Path | None = None  # where CPU time is counted

    @property
    def parents(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(path for path in (self.memory, self.pids, self.cpu) if path))


@dataclass(eq=False)
class BoxCgroup:
    """One box's cgroup. `fds` move whoever writes "0" to them; `cpu` says how much CPU time was used."""

    paths: list[Path] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)

    def close(self) -> None:
        for fds in (self.fds, self.cpu):
            while fds:
                os.close(fds.pop())

    def remove(self) -> bool:
        """False while a dying process is still inside."""
        self.close()
        for path in self.paths:
            try:
                path.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                return False
        return True

    def out_of_memory(self) -> int:
        """How many processes the kernel killed in this box for want of memory."""
        for path in self.paths:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    for line in (path / name).read_text().splitlines():
                        if line.startswith("oom_kill "):
                            return int(line.split()[1])
        return 0


def find_place() -> Place | None:
    mounts = _cgroup_mounts()
    unified = mounts.get("unified")
    return (find_v2(unified, Path("/proc/self/cgroup").read_text()) if unified else None) or _find_v1(mounts)


def describe() -> str:
    """One line for `rtl-agent doctor`."""
    place = find_place()
    if place is None:
        return "no cgroup can be made here: memory is limited for each process, not for the whole box"
    return f"cgroup v{place.version}, in {' and '.join(map(str, place.parents))}"


def make(place: Place, memory_bytes: int, processes: int) -> BoxCgroup:
    name = f"{PREFIX}-{os.getpid()}-{_start_time(os.getpid())}-{next(_numbers)}"
    group = BoxCgroup()
    try:
        for parent in place.parents:
            (parent / name).mkdir()
            group.paths.append(parent / name)
        memory, pids = place.memory / name, place.pids / name
        if place.version == 2:
            _write(memory / "memory.max", memory_bytes)
            _write(memory / "memory.swap.max", 0, optional=True)
        else:
            _write(memory / "memory.limit_in_bytes", memory_bytes)
            _write(memory / "memory.memsw.limit_in_bytes", memory_bytes, optional=True)
        _write(pids / "pids.max", processes)
        for path in group.paths:
            group.fds.append(os.open(path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
        if place.cpu:
            counter = place.cpu / name / ("cpu.stat" if place.version == 2 else "cpuacct.usage")
            group.cpu.append(os.open(counter, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        group.remove()
        raise
    return group


def remove_stale(place: Place) -> None:
    """Remove what processes that were killed left behind. A cgroup that still has processes cannot be removed."""
    for parent in place.parents:
        for path in parent.glob(f"{PREFIX}-*-*-*"):
            pid, start = path.name.removeprefix(f"{PREFIX}-").split("-")[:2]
            if pid.isdigit() and _start_time(int(pid)) != start:
                with suppress(OSError):
                    path.rmdir()


def counters_of(pid: int) -> list[int]:
    """Where the CPU time of this process's cgroup can be read, opened; empty where it cannot be found."""
    mounts = _cgroup_mounts()
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            v1 = "cpuacct" in names.split(",") and mounts.get("cpuacct")
            place = v1 or (mounts.get("unified") if not names and "cpuacct" not in mounts else None)
            if place:
                counter = place / path.lstrip("/") / ("cpuacct.usage" if v1 else "cpu.stat")
                return [os.open(counter, os.O_RDONLY | os.O_CLOEXEC)]
    return []


def _start_time(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "none"


def _write(path: Path, value: int, optional: bool = False) -> None:
    try:
        path.write_text(str(value))
    except OSError:
        if not optional:
            raise


def _cgroup_mounts() -> dict[str, Path]:
    """Controller, or "unified", to mount point."""
    found = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            fields = line.split()
            kind, _, options = fields[fields.index("-") + 1 :][:3]
            if kind == "cgroup2":
                found["unified"] = Path(fields[4])
            elif kind == "cgroup":
                names = [name for name in options.split(",") if name in ("memory", "pids", "cpuacct")]
                found.update({name: Path(fields[4]) for name in names})
    return found


def _find_v1(mounts: dict[str, Path]) -> Place | None:
    """At the top of the hierarchy: in a container our own path may be missing, and the next start has to find this."""
    if "memory" in mounts and "pids" in mounts and all(os.access(mounts[name], os.W_OK) for name in ("memory", "pids")):
        counted = mounts.get("cpuacct")
        return Place(1, mounts["memory"], mounts["pids"], counted if counted and os.access(counted, os.W_OK) else None)
    return None


def find_v2(root: Path, own: str) -> Place | None:
    """The nearest ancestor of our own cgroup that hands memory and pids on and lets us move processes there.

    `own` is what /proc/self/cgroup says. Moving a process needs the right to write at the common ancestor.
    """
    path = next((line[3:] for line in own.splitlines() if line.startswith("0::")), "/")
    for parent in (root / path.lstrip("/"), *(root / path.lstrip("/")).parents):
        if not parent.is_relative_to(root):
            break
        with suppress(OSError):
            given = set((parent / "cgroup.subtree_control").read_text().split())
            if {"memory", "pids"} <= given and all(os.access(at, os.W_OK) for at in (parent, parent / "cgroup.procs")):
                return Place(2, parent, parent, parent)
    return None

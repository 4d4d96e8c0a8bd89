"""What this process, or another one, has running on the machine, for tests that look for leaks."""

import os
from pathlib import Path

from rtl_agent.sandbox import cgroup


def _parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                found[int(entry.name)] = int(fields[1])
    return found


def descendants(*roots: int) -> set[int]:
    """Living children and children's children. Boxes of other test runs on this machine are not among them."""
    parents = _parents()
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - set(roots)


def ancestors(pid: int) -> list[int]:
    parents, found = _parents(), []
    while (pid := parents.get(pid, 0)) > 1:
        found.append(pid)
    return found


def named(name: str, *roots: int) -> set[int]:
    return {pid for pid in descendants(*roots) if name in command_name(pid)}


def command_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def cgroups(*owners: int) -> set[str]:
    """Those of boxes that these processes opened."""
    place = cgroup.find_place()
    parents = place.parents if place else ()
    return {path.name for at in parents for pid in owners for path in at.glob(f"{cgroup.PREFIX}-{pid}-*")}


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  (Path.iterdir counts its own)

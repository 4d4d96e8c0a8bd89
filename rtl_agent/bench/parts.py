"""Where the CPU of a fast grade goes: which process spends it, and how many pages each has to copy."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.bench.subjects import fresh
from rtl_agent.grading import Grader
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem
from rtl_agent.processes import descendants
from rtl_agent.toolchain import Toolchain

_TICK_MS = 1000.0 / os.sysconf("SC_CLK_TCK")
_MARKS = {
    "worker.py": "interface checker",
    "rtl_agent_warm.py": "warm harness",
    "ivl/ivl": "warm preprocessor and compiler",
    "warm_start": "warm simulator",
}
_FORKED = {
    "interface checker": "what it forks: slang reads the design",
    "warm harness": "what it forks: the harness",
    "warm preprocessor and compiler": "what they fork: both, for a design",
    "warm simulator": "what it forks: the simulation with its tests",
}


@dataclass(frozen=True)
class Part:
    """One kind of process: CPU ms for each grade, pages that it touched first after a fork."""

    name: str
    user_ms: float
    system_ms: float
    faults: float


async def parts(problem: Problem, toolchain: Toolchain, grades: int = 100) -> list[Part]:
    """Many grades of one problem, because CPU is counted in ticks of 10 ms."""
    async with Grader(jobs=1, path=SimulationMode.FAST, toolchain=toolchain) as grader:
        for _ in range(3):  # starts the boxes
            await grader.grade(problem, fresh(problem))
        before = _counts()
        for _ in range(grades):
            await grader.grade(problem, fresh(problem))
        after = _counts()
    found = []
    for name, counts in after.items():
        user, system, faults = (
            (now - then) / grades for now, then in zip(counts, before.get(name, (0, 0, 0)), strict=True)
        )
        found.append(Part(name, user * _TICK_MS, system * _TICK_MS, faults))
    return found


def _counts() -> dict[str, tuple[int, int, int]]:
    """Part -> (user ticks, system ticks, minor faults), of this process and of those that stay between grades."""
    own = _stat(os.getpid())
    found = {"grader": (own[11], own[12], own[7])}
    for pid in descendants():
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            name = next((part for mark, part in _MARKS.items() if mark in command and "bwrap" not in command), None)
            if name is not None:
                fields = _stat(pid)
                _add(found, name, (fields[11], fields[12], fields[7]))
                _add(found, _FORKED[name], (fields[13], fields[14], fields[8]))
    return found


def _add(found: dict[str, tuple[int, int, int]], name: str, counts: tuple[int, int, int]) -> None:
    before = found.get(name, (0, 0, 0))
    found[name] = (before[0] + counts[0], before[1] + counts[1], before[2] + counts[2])


def _stat(pid: int) -> list[int]:
    """The numbers of /proc/PID/stat after the state: the first is the parent."""
    rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [0, *map(int, rest[1:])]

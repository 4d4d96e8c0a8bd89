"""Which pages a fast grade touches first, and what is on them: objects by their kind, gaps, libraries.

    .venv/bin/python scripts/measure_first_touches.py [GRADES]

Needs root and `perf`: the kernel's page faults are counted, which no load of the machine changes. The object at the
address is read from the memory of the warm process that forked: there it is what it was in the fork.
"""

import asyncio
import re
import signal
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from rtl_agent.bench.subjects import ARBITER, fresh, subjects
from rtl_agent.grading import Grader, SimulationMode
from rtl_agent.processes import descendants

WARM = {"rtl_agent_warm.py": "harness", "ivl/ivlpp": "preprocessor", "ivl/ivl ": "compiler", "warm_start": "simulation"}
FORKED_AS = {"python3": "harness", "ivlpp": "preprocessor", "ivl": "compiler", "vvp": "simulation"}
SHOWN = 14


class Memory:
    """Of another process: what is mapped where, and the type of the Python object at an address."""

    def __init__(self, pid: int) -> None:
        self._file = Path(f"/proc/{pid}/mem").open("rb", 0)  # noqa: SIM115  # as long as the process
        self._maps = []
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, mode, _, _, _, *name = line.split(maxsplit=5)
            start, end = (int(part, 16) for part in place.split("-"))
            self._maps.append((start, end, mode, Path(name[0].strip()).name if name else "objects"))

    def mapped(self, address: int) -> tuple[str, str] | None:
        return next(((mode, name) for start, end, mode, name in self._maps if start <= address < end), None)

    def type_at(self, address: int) -> str | None:
        kind = self._pointer(address + 8)
        if not kind or self.mapped(self._pointer(kind + 8)) is None:
            return None
        name = self._read(self._pointer(kind + 24), 60).split(b"\0")[0].decode("latin-1")
        return name if re.fullmatch(r"[A-Za-z_][\w.]*", name) else None

    def _pointer(self, address: int) -> int:
        data = self._read(address, 8)
        return int(struct.unpack("<Q", data)[0]) if len(data) == 8 else 0

    def _read(self, address: int, size: int) -> bytes:
        with suppress(OSError, ValueError, OverflowError):
            self._file.seek(address)
            return self._file.read(size)
        return b""


def warm_processes() -> dict[str, int]:
    found = {}
    for pid in descendants():
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for mark, name in WARM.items():
            if mark in command and "bwrap" not in command:
                found[name] = pid
    return found


async def main(grades: int) -> None:
    arbiter = subjects()[ARBITER]
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        for _ in range(3):
            await grader.grade(arbiter, fresh(arbiter))
        warm = warm_processes()
        with tempfile.NamedTemporaryFile() as record:
            pids = ",".join(map(str, warm.values()))
            command = ["perf", "record", "-q", "-o", record.name, "-e", "page-faults", "-c", "1", "-d", "-p", pids]
            with subprocess.Popen(command) as perf:  # noqa: ASYNC220
                await asyncio.sleep(2)  # until it counts
                for _ in range(grades):
                    await grader.grade(arbiter, fresh(arbiter))
                perf.send_signal(signal.SIGINT)
            script = ["perf", "script", "-i", record.name, "-F", "comm,pid,addr"]
            lines = subprocess.check_output(script, text=True).splitlines()  # noqa: ASYNC221
        show(lines, warm, {name: Memory(pid) for name, pid in warm.items()}, grades)


def show(lines: list[str], warm: dict[str, int], memories: dict[str, Memory], grades: int) -> None:
    totals: Counter[str] = Counter()
    on_them: dict[str, Counter[str]] = {name: Counter() for name in warm}
    for line in lines:
        program, pid, address = line.split()[:3]
        name = next((name for name, parent in warm.items() if parent == int(pid)), None)
        if name is not None:
            totals[f"warm {name}"] += 1
        elif program not in FORKED_AS:
            totals[program] += 1
        else:
            name = FORKED_AS[program]
            totals[name] += 1
            on_them[name][_what(memories[name], int(address, 16))] += 1
    for name, count in totals.most_common():
        print(f"{count / grades:7,.0f}  {name}")
    print(f"{sum(totals.values()) / grades:7,.0f}  for each grade")
    for name, found in on_them.items():
        print(f"\n{name}:")
        for what, count in found.most_common(SHOWN):
            print(f"{count / grades:7,.0f}  {what}")


def _what(memory: Memory, address: int) -> str:
    place = memory.mapped(address)
    if place is None:
        return "memory of its own"
    mode, name = place
    if "w" not in mode:
        return f"{name}, read"
    return f"{name}: {memory.type_at(address & ~7) or 'other'}"


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))

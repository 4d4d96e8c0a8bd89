"""The CPU time of a command and of everything that it started, read from the box's cgroup.

What the kernel tells a waiting parent leaves out children that nobody waits for: with SIGCHLD ignored they are gone
before anybody could ask, and so is their time.
"""

import os
from collections.abc import Sequence

CPUS = os.cpu_count() or 1
SHORTEST = 0.02  # seconds between two looks


class CpuCounter:
    """Without a counter (no cgroup can be made here) it stands at 0."""

    def __init__(self, fds: Sequence[int]) -> None:
        self.fds = fds

    def seconds(self) -> float:
        for fd in self.fds:
            return parse(os.pread(fd, 4096, 0))
        return 0.0


class CpuLimit:
    """Whether all processes of a command together have used what they may, and when to look again."""

    def __init__(self, counter: CpuCounter, seconds: float) -> None:
        self.counter, self.most = counter, seconds
        self.before = counter.seconds()

    def used(self) -> float:
        return self.counter.seconds() - self.before

    def left(self) -> float:
        return self.most - self.used() if self.counter.fds and self.most < float("inf") else self.most

    def look_after(self, left: float) -> float:
        """Not before then can it be used up, however many processors are busy."""
        return max(left / CPUS, SHORTEST)


def parse(text: bytes) -> float:
    """v1's cpuacct.usage is a number of nanoseconds; v2's cpu.stat begins with `usage_usec` and microseconds."""
    name, _, rest = text.partition(b" ")
    return int(rest.split()[0]) / 1e6 if name == b"usage_usec" else int(text) / 1e9

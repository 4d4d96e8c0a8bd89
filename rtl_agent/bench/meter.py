"""A meter for CPU: what this process and everything below it uses between start and stop, ended or still alive."""

import time
from dataclasses import dataclass

from rtl_agent.processes import cpu_seconds_below, descendants, own_cpu_seconds


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

"""Pid 1 of a box: serves the host one request after another.

It is started as `python3 -I -S` and imports only what starts fast: json, re, signal, socket, pathlib and subprocess
would each add 4-18 ms of CPU to every box.
"""

import _ctypes  # ctypes costs 4 ms; this is its C half
import _signal  # type: ignore[import-not-found]  # typeshed has only signal, which costs 6 ms for its enums
import os
import sys
from collections.abc import Sequence

from rtl_agent.sandbox._inside.command import CpuCounter, run
from rtl_agent.sandbox._inside.files import DiskWatch, read, write
from rtl_agent.sandbox._inside.program import close_all_but
from rtl_agent.sandbox._inside.wire import Wire

SIGINT = 2
WHOLE_TMPFS = DiskWatch()
PR_SET_DUMPABLE = 4


def main(arguments: Sequence[str]) -> None:
    host, owner, proc = map(int, arguments[:3])
    cgroups, counters, passed = ([int(fd) for fd in fds.split()] for fds in arguments[3:6])
    volunteer_for_oom(proc)
    kept = (host, owner, *cgroups, *counters, *passed)
    close_all_but(set(kept))
    for fd in kept:
        os.set_inheritable(fd, False)
    settle()
    Service(Wire(host, owner), cgroups, CpuCounter(counters)).serve()


def settle() -> None:
    """Before a command runs: out of its reach, and with modes that do not depend on the host's."""
    # Commands have the same uid. The kernel shields pid 1 from signals it has no handler for; not being dumpable
    # shields it from ptrace and closes /proc/1.
    _signal.signal(SIGINT, _signal.SIG_DFL)
    if prctl(PR_SET_DUMPABLE, 0):
        raise OSError("the init could not make itself untraceable")
    os.umask(0o022)  # of directories on the way to a file that is written


class Service:
    """What a box does for the host. `score`: a file with the init's own readiness to be killed for want of memory."""

    def __init__(
        self,
        wire: Wire,
        cgroups: Sequence[int],
        counter: CpuCounter,
        score: int = -1,
        room: DiskWatch = WHOLE_TMPFS,
    ) -> None:
        self.wire, self.cgroups, self.counter, self.score, self.room = wire, cgroups, counter, score, room

    def serve(self) -> None:
        self.wire.reply([b"ready"])
        while True:
            operation, *fields = self.wire.receive_frame()
            if operation == b"run":
                run(self.wire, self.cgroups, self.counter, self.score, fields, self.room)
            elif operation == b"write":
                write(self.wire, fields[0], int(fields[1]), int(fields[2]), self.room)
            elif operation == b"read":
                read(self.wire, fields[0], int(fields[1]))
            else:
                self.other(operation, fields)

    def other(self, operation: bytes, fields: Sequence[bytes]) -> None:
        """What only some boxes do."""
        raise ValueError(operation)


def volunteer_for_oom(proc: int) -> None:
    """When the machine is out of memory a box goes before the trainer does. Commands inherit this."""
    try:
        fd = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=proc)
        os.write(fd, b"1000")
        os.close(fd)
    except OSError:
        pass  # then the kernel chooses by size alone
    os.close(proc)


def prctl(option: int, value: int) -> int:
    function = _ctypes.dlsym(_ctypes.dlopen("libc.so.6", 0), "prctl")
    return int(_ctypes.call_function(function, (option, value, 0, 0, 0)))


if __name__ == "__main__":
    main(sys.argv[1:])

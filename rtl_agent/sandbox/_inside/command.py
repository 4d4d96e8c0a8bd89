"""Runs one command of a box: takes its output, counts its CPU time, ends it in time, and all that it started.

CPU time is read from the box's cgroup. What the kernel tells a waiting parent leaves out children that nobody waits
for: with SIGCHLD ignored they are gone before anybody could ask, and so is their time.
"""

# ruff: noqa: SIM105  (contextlib would add 2 ms of CPU to every box)

import os
import select
import time
from collections.abc import Mapping, Sequence

from rtl_agent.sandbox._inside.files import LONGEST_POLL, DiskWatch
from rtl_agent.sandbox._inside.program import Program, become
from rtl_agent.sandbox._inside.wire import CHUNK, Wire

CPUS = os.cpu_count() or 1
SHORTEST = 0.02  # seconds between two looks
NEARLY_FULL = b"the filesystem on which boxes are made is nearly full"


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


SIGKILL, SIGXCPU, SIGXFSZ = 9, 24, 25  # importing signal costs 6 ms of CPU for its enums


class Kept:
    """The head and the tail of a stream."""

    def __init__(self, keep: int) -> None:
        self.total, self.keep = 0, keep
        self.head, self.tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self.keep - self.keep // 2 - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > self.keep // 2 + 4 * CHUNK:
            self.trim()

    def trim(self) -> None:
        del self.tail[: max(0, len(self.tail) - self.keep // 2)]

    def bytes(self) -> bytes:
        self.trim()
        return bytes(self.head + self.tail)


def run(
    wire: Wire,
    cgroups: Sequence[int],
    counter: CpuCounter,
    score: int,
    fields: Sequence[bytes],
    room: DiskWatch,
) -> None:
    wall, all_cpu, output, keep, stdin_size = (float(number) for number in fields[0].split())
    program = Program(fields[1:])
    stdin = take_stdin(wire, int(stdin_size))
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    fault, fault_end = os.pipe()
    limit = CpuLimit(counter, all_cpu)
    start = time.monotonic()
    if score >= 0:  # an init that shares the commands' cgroup is not to be the one that is killed
        os.pwrite(score, b"1000", 0)
    pid = os.fork()
    if pid == 0:
        become(program, (stdin, out_end, err_end), cgroups, fault_end)
    if score >= 0:
        os.pwrite(score, b"500", 0)
    for fd in (stdin, out_end, err_end, fault_end):
        os.close(fd)
    for fd in (out, err, fault):
        os.set_blocking(fd, False)
    streams = {out: Kept(int(keep)), err: Kept(int(keep))}
    ended = watch(wire, pid, streams, start + wall, limit, output, room)
    code, waited, rss = kill_all(pid)
    cpu = max(waited, limit.used())  # the first steps of a command are outside of its cgroup
    wall = time.monotonic() - start
    for fd, kept in streams.items():
        # Until there is no more, not until end of file: a writing end may have left through a passed socket.
        while data := read_some(fd):
            kept.add(data)
    failure = read_some(fault)
    if not failure and (ended == b"no-room" or (ended != b"disk" and room.nearly_full())):
        failure = NEARLY_FULL
    for fd in (out, err, fault):
        os.close(fd)
    if failure:
        return wire.reply([b"fault", failure])
    if ended == b"cpu-time":
        ended, code = b"signalled", -SIGXCPU
    elif ended == b"disk" or room.exceeded(now=True):
        ended, code = b"signalled", -SIGXFSZ
    elif ended != b"exited":
        code = -SIGKILL  # an exit code of 0 that it reached just then must not look like success
    elif code < 0:
        ended = b"signalled"
    cut = any(kept.total > kept.keep for kept in streams.values())
    numbers = b"%d %d %.6f %.6f %d" % (code, cut, wall, cpu, rss)
    wire.reply([b"done", ended, numbers, streams[out].bytes(), streams[err].bytes()])


def take_stdin(wire: Wire, size: int) -> int:
    """A file in memory rather than a pipe: nobody has to feed it while the command runs."""
    if not size:
        return os.open("/dev/null", os.O_RDONLY)
    fd = os.memfd_create("stdin")
    while size:
        data = wire.receive(min(size, CHUNK))
        size -= len(data)
        os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def watch(
    wire: Wire,
    pid: int,
    streams: Mapping[int, Kept],
    deadline: float,
    limit: CpuLimit,
    output: float,
    room: DiskWatch,
) -> bytes:
    """Take output until the command ends, or has to."""
    exited = os.pidfd_open(pid)
    poll = select.poll()
    for fd in (*streams, exited, wire.fd, wire.owner):
        poll.register(fd, select.POLLIN)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return b"wall-time"
            cpu_left = limit.left()
            if cpu_left <= 0:
                return b"cpu-time"
            if room.exceeded():
                return b"disk"
            if room.nearly_full():
                return b"no-room"
            pause = min(left, limit.look_after(cpu_left), room.pause, LONGEST_POLL)
            ready = [fd for fd, _ in poll.poll(pause * 1000 + 1)]
            if wire.fd in ready or wire.owner in ready:
                wire.leave()  # the host speaks during a command only by hanging up
            for fd in streams.keys() & ready:
                data = read_some(fd)
                if data:
                    streams[fd].add(data)
                elif data is not None:
                    poll.unregister(fd)
            if sum(kept.total for kept in streams.values()) > output:
                return b"output"
            if exited in ready:
                return b"exited"
    finally:
        os.close(exited)


def read_some(fd: int) -> bytes | None:
    """b"" at the end of the file, None when there is nothing now."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None


def kill_all(pid: int) -> tuple[int, float, int]:
    """End every process of the box. Pid 1's kill(-1) reaches all of them, in any session, and cannot race a fork."""
    code, cpu, rss = 0, 0.0, 0
    while True:
        try:
            os.kill(-1, SIGKILL)
        except ProcessLookupError:
            pass
        try:
            reaped, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return code, cpu, rss
        cpu += usage.ru_utime + usage.ru_stime
        rss = max(rss, usage.ru_maxrss * 1024)
        if reaped == pid and not os.WIFSTOPPED(status):  # stops are told of processes that made us their tracer
            code = os.waitstatus_to_exitcode(status)

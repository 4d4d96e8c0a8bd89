"""Pid 1 of a box: runs one command after another for the host and kills what each leaves behind.

It is started as `python3 -I -S` and imports only what starts fast: json, re, signal, socket and subprocess would each
add 4-18 ms of CPU to every box, which is why frames are lists of byte strings and signal numbers are written out.
"""
# pathlib and contextlib are among the imports that cost too much here.
# ruff: noqa: PTH103, PTH108, PTH120, SIM105

import _ctypes  # type: ignore[import-not-found,unused-ignore]  # ctypes costs 4 ms; this is its C half
import _signal  # type: ignore[import-not-found,unused-ignore]  # signal costs 6 ms for its enums
import os
import resource
import select
import sys
import time
from collections.abc import Mapping, Sequence

SIGKILL, SIGINT, SIGPIPE, SIGXFSZ = 9, 2, 13, 25
ENOENT, ENOTDIR, EACCES = 2, 20, 13
PR_SET_DUMPABLE = 4
POLLIN = 1
CHUNK = 256 * 1024
DEFAULT_PATH = b"/usr/local/bin:/usr/bin:/bin"


def pack(fields: Sequence[bytes]) -> bytes:
    """One frame: its length, then each field with its own length."""
    body = b"".join(len(field).to_bytes(4, "little") + field for field in fields)
    return len(body).to_bytes(4, "little") + body


def unpack(body: bytes) -> list[bytes]:
    fields, at = [], 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "little")
        fields.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return fields


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


class Command:
    """What the host asked to run, taken out of its frame."""

    def __init__(self, fields: Sequence[bytes]) -> None:
        numbers = fields[0].split()
        self.wall, self.cpu = float(numbers[0]), int(numbers[1])
        self.file, self.output, self.keep, self.memory, self.processes, self.stdin_size, count = map(int, numbers[2:])
        self.fds = [int(fd) for fd in fields[1].split()]
        self.cwd = fields[2]
        self.argv = list(fields[3 : 3 + count])
        self.env = dict(pair.split(b"=", 1) for pair in fields[3 + count :])


class Init:
    def __init__(self, host: int, cgroups: Sequence[int]) -> None:
        self.host, self.cgroups = host, cgroups

    def serve(self) -> None:
        self.reply([b"ready"])
        while True:
            operation, *fields = unpack(self.receive(int.from_bytes(self.receive(4), "little")))
            if operation == b"run":
                self.reply(self.run(Command(fields)))
            elif operation == b"write":
                self.write(fields[0], int(fields[1]), int(fields[2]))
            elif operation == b"read":
                self.read(fields[0], int(fields[1]))

    def receive(self, size: int) -> bytes:
        parts = []
        while size:
            data = os.read(self.host, min(size, CHUNK))
            if not data:
                os._exit(0)  # the host has closed the box or has died: the kernel kills everything inside
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.host, view) :]

    def reply(self, fields: Sequence[bytes]) -> None:
        self.send(pack(fields))

    def refuse(self, error: OSError) -> None:
        self.reply([b"error", str(error.errno or 0).encode(), (error.strerror or str(error)).encode()])

    # Files. No process of the box is alive here, so nothing changes between a check and its use.

    def write(self, path: bytes, mode: int, size: int) -> None:
        """Replace what has this name: a link, fifo or read-only file of a command must neither redirect nor block."""
        left = size
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path):
                os.unlink(path)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                while left:
                    data = self.receive(min(left, CHUNK))
                    left -= len(data)
                    view = memoryview(data)
                    while view:
                        view = view[os.write(fd, view) :]
                os.fchmod(fd, mode)
            except OSError:
                os.unlink(path)
                raise
            finally:
                os.close(fd)
        except OSError as error:
            while left:
                left -= len(self.receive(min(left, CHUNK)))
            self.refuse(error)
        else:
            self.reply([b"ok"])

    def read(self, path: bytes, limit: int) -> None:
        fd = -1
        try:
            fd = open_without_links(path)
            size = os.fstat(fd).st_size
            if os.fstat(fd).st_mode & 0o170000 != 0o100000:
                self.reply([b"unfit", b"not a regular file"])
            elif size > limit:
                self.reply([b"unfit", b"%d bytes, more than the %d asked for" % (size, limit)])
            else:
                self.reply([b"ok", b"%d" % size])
                while size:
                    data = os.read(fd, min(size, CHUNK))
                    if not data:
                        os._exit(1)
                    self.send(data)
                    size -= len(data)
        except OSError as error:
            self.refuse(error)
        finally:
            if fd >= 0:
                os.close(fd)

    # Commands.

    def run(self, command: Command) -> list[bytes]:
        stdin = self.stdin(command.stdin_size)
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        fault, fault_end = os.pipe()
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            become(command, (stdin, out_end, err_end), self.cgroups, fault_end)
        for fd in (stdin, out_end, err_end, fault_end):
            os.close(fd)
        for fd in (out, err, fault):
            os.set_blocking(fd, False)
        streams = {out: Kept(command.keep), err: Kept(command.keep)}
        ended = self.watch(pid, streams, start + command.wall, command.output)
        code, cpu, rss = kill_all(pid)
        wall = time.monotonic() - start
        for fd, kept in streams.items():
            # Until there is no more, not until end of file: a writing end may have left through a passed socket.
            while data := read_some(fd):
                kept.add(data)
        failure = read_some(fault)
        for fd in (out, err, fault):
            os.close(fd)
        if failure:
            return [b"fault", failure]
        if ended == b"exited" and code < 0:
            ended = b"signalled"
        cut = any(kept.total > kept.keep for kept in streams.values())
        numbers = b"%d %d %.6f %.6f %d" % (code, cut, wall, cpu, rss)
        return [b"done", ended, numbers, streams[out].bytes(), streams[err].bytes()]

    def stdin(self, size: int) -> int:
        if not size:
            return os.open("/dev/null", os.O_RDONLY)
        fd = os.memfd_create("stdin")
        while size:
            data = self.receive(min(size, CHUNK))
            size -= len(data)
            os.write(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def watch(self, pid: int, streams: Mapping[int, Kept], deadline: float, output: int) -> bytes:
        """Take output until the command ends, or has to."""
        exited = os.pidfd_open(pid)
        poll = select.poll()
        for fd in (*streams, exited, self.host):
            poll.register(fd, POLLIN)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return b"wall-time"
                ready = [fd for fd, _ in poll.poll(left * 1000 + 1)]
                if self.host in ready:
                    os._exit(0)  # the host speaks during a command only by hanging up
                for fd in ready:
                    if fd in streams:
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


def open_without_links(path: bytes) -> int:
    """A link anywhere on the way is refused; a fifo does not block, a device is not opened for good."""
    parts = [part for part in path.split(b"/") if part]
    fd = os.open("/", os.O_PATH | os.O_DIRECTORY)
    for part in parts[:-1]:
        try:
            inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    if not parts:
        return fd
    try:
        if os.stat(parts[-1], dir_fd=fd, follow_symlinks=False).st_mode & 0o170000 != 0o100000:
            return os.open(parts[-1], os.O_PATH | os.O_NOFOLLOW, dir_fd=fd)
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=fd)
    finally:
        os.close(fd)


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
        if reaped == pid:
            code = os.waitstatus_to_exitcode(status)


def become(command: Command, stdio: tuple[int, int, int], cgroups: Sequence[int], fault: int) -> None:
    """In the forked child: take on the limits, then be the command."""
    try:
        for number, fd in enumerate(stdio):
            os.dup2(fd, number)
        for group in cgroups:
            os.write(group, b"0")
        at = 3
        for fd in sorted({fault, *command.fds}):
            os.closerange(at, fd)
            at = fd + 1
        os.closerange(at, 2**31 - 1)
        for fd in command.fds:
            os.set_inheritable(fd, True)
        os.setsid()
        os.umask(0o022)
        for number in (SIGPIPE, SIGXFSZ):  # Python ignores both, and a new program would inherit that
            _signal.signal(number, _signal.SIG_DFL)
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_NOFILE, 4096)
        limit(resource.RLIMIT_CPU, command.cpu, command.cpu + 1)
        limit(resource.RLIMIT_FSIZE, command.file)
        if command.processes:
            limit(resource.RLIMIT_NPROC, command.processes + 1)  # this init counts as well
    except BaseException as error:
        os.write(fault, repr(error).encode())
        os._exit(125)
    try:
        os.chdir(command.cwd)
        limit(resource.RLIMIT_AS, command.memory)
        execute(command.argv, command.env)
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(2, b"cannot run %s: %s\n" % (command.argv[0] if command.argv else b"", (reason or "").encode()))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def limit(what: int, soft: int, hard: int | None = None) -> None:
    most = resource.getrlimit(what)[1]
    wanted = soft if hard is None else hard
    top = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(what, (min(soft, top), top))


def execute(argv: list[bytes], env: Mapping[bytes, bytes]) -> None:
    places = [b""] if b"/" in argv[0] else [place + b"/" for place in env.get(b"PATH", DEFAULT_PATH).split(b":")]
    denied: OSError | None = None
    for place in places:
        try:
            os.execve(place + argv[0], argv, env)  # noqa: S606  (that is the job)
        except OSError as error:
            if error.errno == EACCES:
                denied = error
            elif error.errno not in (ENOENT, ENOTDIR):
                raise
    raise denied or FileNotFoundError(ENOENT, "no such program")


def prctl(option: int, value: int) -> int:
    function = _ctypes.dlsym(_ctypes.dlopen("libc.so.6", 0), "prctl")
    return int(_ctypes.call_function(function, (option, value, 0, 0, 0)))


def volunteer_for_oom(proc: int) -> None:
    """When the machine is out of memory a box goes before the trainer does. Commands inherit this."""
    try:
        fd = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=proc)
        os.write(fd, b"1000")
        os.close(fd)
    except OSError:
        pass
    os.close(proc)


def main() -> None:
    host, proc = int(sys.argv[1]), int(sys.argv[2])
    cgroups = [int(fd) for fd in sys.argv[3].split()]
    passed = [int(fd) for fd in sys.argv[4].split()]
    volunteer_for_oom(proc)
    at = 3
    for fd in sorted({host, *cgroups, *passed}):
        os.closerange(at, fd)
        at = fd + 1
        os.set_inheritable(fd, False)
    os.closerange(at, 2**31 - 1)
    # Commands have the same uid. The kernel shields pid 1 from signals it has no handler for; not being dumpable
    # shields it from ptrace and closes /proc/1.
    _signal.signal(SIGINT, _signal.SIG_DFL)
    if prctl(PR_SET_DUMPABLE, 0):
        os._exit(1)
    Init(host, cgroups).serve()


if __name__ == "__main__":
    main()

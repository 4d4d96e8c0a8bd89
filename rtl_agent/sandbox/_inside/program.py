"""Turns a forked child of the init into a command: its files, its cgroup, its limits, then exec."""

import _signal  # type: ignore[import-not-found]  # typeshed has only signal, which costs 6 ms for its enums
import os
import resource
from collections.abc import Callable, Mapping, Sequence

SIGKILL, SIGSTOP = 9, 19
SETTABLE = tuple(number for number in range(1, 32) if number not in (SIGKILL, SIGSTOP))
ENOENT, EACCES, ENOTDIR = 2, 13, 20
DEFAULT_PATH = b"/usr/local/bin:/usr/bin:/bin"
LAST_FD = 2**31 - 1


class Program:
    """What the host wants to run, taken out of its frame."""

    identify: Callable[[], None] | None = None  # where commands have another user than the init: become that user

    def __init__(self, fields: Sequence[bytes]) -> None:
        self.cpu, self.file, self.memory, self.processes, count = (int(number) for number in fields[0].split())
        self.fds = [int(fd) for fd in fields[1].split()]
        self.cwd = fields[2]
        self.argv = list(fields[3 : 3 + count])
        self.env = dict(pair.split(b"=", 1) for pair in fields[3 + count :])


def become(program: Program, stdio: tuple[int, int, int], cgroups: Sequence[int], fault: int) -> None:
    """Does not return. What goes wrong before the limits are on is our fault and goes to `fault`."""
    try:
        for number, fd in enumerate(stdio):
            os.dup2(fd, number)
        for group in cgroups:
            os.write(group, b"0")
        close_all_but({fault, *program.fds})
        for fd in program.fds:
            os.set_inheritable(fd, True)
        os.setsid()
        os.umask(0o022)
        for number in SETTABLE:  # Python ignores two, nohup and shells others, and a new program would inherit that
            _signal.signal(number, _signal.SIG_DFL)
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_NOFILE, 4096)
        limit(resource.RLIMIT_CPU, program.cpu, program.cpu + 1)
        limit(resource.RLIMIT_FSIZE, program.file)
        if program.processes:
            limit(resource.RLIMIT_NPROC, program.processes)
        if program.identify:
            program.identify()
    except BaseException as error:
        os.write(fault, repr(error).encode())
        os._exit(125)
    try:
        os.chdir(program.cwd)
        limit(resource.RLIMIT_AS, program.memory)
        execute(program.argv, program.env)
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(2, b"cannot run %s: %s\n" % (program.argv[0][:200], (reason or "no memory").encode()))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def close_all_but(kept: set[int]) -> None:
    at = 3
    for fd in sorted(kept):
        os.closerange(at, fd)
        at = fd + 1
    os.closerange(at, LAST_FD)


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

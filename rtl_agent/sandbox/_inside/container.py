"""Pid 1 of a box that is a container: gives up what the engine gave it, then serves the host as any box's init does.

An engine always mounts /proc, and through /proc/self/mem RTL could rewrite its simulator. So the init starts as the
container's root with the few capabilities it takes to unmount what a box does not have, and drops them for good, with
its uid, before it says that it is ready: nothing untrusted is in the container until then.
"""

import ctypes
import fcntl
import os
import socket
from collections.abc import Sequence

from rtl_agent.sandbox._inside.command import CpuCounter
from rtl_agent.sandbox._inside.main import Service, prctl, settle
from rtl_agent.sandbox._inside.program import close_all_but
from rtl_agent.sandbox._inside.wire import Wire

MNT_DETACH, MS_NOSUID, MS_NODEV, MS_REMOUNT = 2, 2, 4, 32
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 24, 38, 39, 47
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_CAP_AMBIENT_CLEAR_ALL = 22, 2, 4
CAPABILITY_VERSION = 0x20080522
DEVICES = (b"full", b"null", b"random", b"tty", b"urandom", b"zero")
LINKS = (b"fd", b"stderr", b"stdin", b"stdout")
OF_IPC = (b"ptmx", b"pts", b"shm")
OWN_FDS = 3840  # ours are above, those that are handed over keep the host's numbers below; the limit is 4096
MOST_FDS = 250  # the kernel passes 253 at a time

libc = ctypes.CDLL(None, use_errno=True)


def main(host: socket.socket) -> None:
    """What to become comes in the first frame, and with it the files that the host hands over."""
    if os.getpid() != 1:
        raise OSError("the box's init is not pid 1 of its container")
    proc = high(os.open("/proc", os.O_PATH | os.O_DIRECTORY))
    score = high(os.open("self/oom_score_adj", os.O_RDWR, dir_fd=proc))
    fd = high(host.detach())
    owner, *counters = (high(found) for found in take_fds(fd))
    wire = Wire(fd, owner)
    try:
        uid, keep_proc, ipc, rules, kept, places = wire.receive_frame()
        close_all_but({fd, owner, proc, score, *counters})
        leave_only([path for path in kept.split(b"\0") if path], keep_proc == b"1", ipc == b"1", proc)
        own = [Place(text) for text in places.split(b"\0")]
        for place in own:
            libc.mount(None, place.path, None, MS_REMOUNT | MS_NOSUID | MS_NODEV, b"nr_inodes=" + place.files)
            os.chmod(place.path, place.mode)  # noqa: PTH101
            os.chown(place.path, int(uid), int(uid))
        os.close(proc)
        drop_everything(int(uid))
        filter_calls(rules)
        settle()
    except Exception as error:
        wire.reply([b"fault", f"{type(error).__name__}: {error}".encode()])
        os._exit(1)
    ContainerService(wire, (), CpuCounter(counters), score, own).serve()


class Place:
    """A directory that commands may write to, with its mode and the number of files that it may hold."""

    def __init__(self, text: bytes) -> None:
        mode, self.files, self.path = text.split(b" ", 2)
        self.mode = int(mode, 8)


class ContainerService(Service):
    """Also takes files at any time, and clears the box for the next job."""

    def __init__(
        self, wire: Wire, cgroups: Sequence[int], counter: CpuCounter, score: int, places: Sequence[Place]
    ) -> None:
        super().__init__(wire, cgroups, counter, score)
        self.places = places
        self.own = (wire.fd, wire.owner, score, *counter.fds)

    def other(self, operation: bytes, fields: Sequence[bytes]) -> None:
        if operation == b"adopt":
            self.adopt([int(number) for number in fields[0].split()])
        elif operation == b"renew":
            self.renew()

    def adopt(self, numbers: list[int]) -> None:
        """The host's files under the host's numbers; those of before are closed."""
        close_all_but(set(self.own))
        received = [high(fd) for fd in take_fds(self.wire.fd)] if numbers else []
        for fd, number in zip(received, numbers, strict=True):
            os.dup2(fd, number, inheritable=False)
            os.close(fd)
        self.wire.reply([b"ok"])

    def renew(self) -> None:
        """As a new box is: nothing in any place, each with its mode. What cannot be cleared is not used again."""
        close_all_but(set(self.own))
        try:
            for place in self.places:
                os.chmod(place.path, 0o700)  # noqa: PTH101
                clear(place.path)
                os.chmod(place.path, place.mode)  # noqa: PTH101
        except (OSError, RecursionError) as error:
            self.wire.reply([b"unfit", str(error).encode()])
        else:
            self.wire.reply([b"ok"])


def clear(path: bytes) -> None:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)  # noqa: PTH101
                clear(entry.path)
                os.rmdir(entry.path)  # noqa: PTH106
            else:
                os.unlink(entry.path)  # noqa: PTH108


def high(fd: int) -> int:
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OWN_FDS)
    os.close(fd)
    return moved


def take_fds(fd: int) -> list[int]:
    """The files that come with one byte."""
    copy = socket.socket(fileno=os.dup(fd))
    copy.setblocking(True)
    with copy:
        data, fds, _, _ = socket.recv_fds(copy, 1, MOST_FDS)
        os.set_blocking(fd, False)
    if not data:
        os._exit(0)
    return list(fds)


def leave_only(kept: Sequence[bytes], keep_proc: bool, ipc: bool, proc: int) -> None:
    """Unmount everything else, whatever this engine mounts, and see that it is gone."""
    wanted = [*kept, *([b"/proc"] if keep_proc else []), *([b"/dev/pts", b"/dev/shm"] if ipc else [])]
    wanted += [b"/dev/" + name for name in DEVICES]  # without root on the host an engine binds them

    def stays(path: bytes) -> bool:
        return path in (b"/", b"/dev") or any(path == place or path.startswith(place + b"/") for place in wanted)

    for path in reversed(mounted(proc)):
        if not stays(path):
            libc.umount2(path, MNT_DETACH)  # what was below another is gone with it
    left = [path for path in mounted(proc) if not stays(path)]
    if left:
        raise OSError(f"{left[0].decode(errors='replace')} cannot be unmounted: {os.strerror(ctypes.get_errno())}")
    known = {*DEVICES, *LINKS, *(OF_IPC if ipc else ())}
    for name in os.listdir(b"/dev"):  # noqa: PTH208
        if name not in known:
            path = b"/dev/" + name
            if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
                os.rmdir(path)  # noqa: PTH106
            else:
                os.unlink(path)  # noqa: PTH108


def mounted(proc: int) -> list[bytes]:
    with os.fdopen(os.open("self/mountinfo", os.O_RDONLY, dir_fd=proc), "rb") as file:
        places = [line.split()[4] for line in file]
    return [place.decode("unicode_escape").encode("latin-1") if b"\\" in place else place for place in places]


def drop_everything(uid: int) -> None:
    drop_bounding_set()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    drop_capabilities()


def drop_bounding_set() -> None:
    for capability in range(64):
        if prctl(PR_CAPBSET_DROP, capability):
            break  # the kernel knows no more


def drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError("the init's capabilities cannot be dropped")
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if 0 in os.getresuid() + os.getresgid() or prctl(PR_GET_NO_NEW_PRIVS, 0) != 1:
        raise OSError("the init could not give up its rights")


def filter_calls(rules: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    if rules:
        program = Program(len(rules) // 8, rules)
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
            raise OSError(f"no filter of system calls: {os.strerror(ctypes.get_errno())}")

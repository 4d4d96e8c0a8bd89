"""The system calls a box has to do without, as a program for the kernel's filter (bubblewrap's --seccomp).

Namespaces do not cover them: kernel keyrings and vsock reach the host, io_uring, bpf, perf and userfaultfd are where
kernels break most, and prlimit, setpriority and sched_* let a command starve or kill the init, which has the same uid.
Nor may one process look into another: a tool that a design made run C code could speak for the harness beside it.

A box without `ipc` has nothing either that outlives a command and is no file: System V IPC, message queues, connections
that the loopback remembers, attributes of directories; and a process limits and schedules itself only, not the warm one
that the next job is forked from.
"""

import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

EPERM, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT = 1, 38, 95, 97
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, AND, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_SET, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16
X32_BIT = 0x40000000
MYSELF, INIT_PID = 0, 1
UNIX_SOCKETS = (1,)
SOCKETS = (*UNIX_SOCKETS, 2, 10, 16)  # inet, inet6, netlink: the namespaces cover these
SOCK_TYPES, SOCK_STREAM, SOCK_SEQPACKET = 0xF, 1, 5
PRIO_PROCESS, IOPRIO_WHO_PROCESS = 0, 1
IO_URING = (425, 426, 427)
SETXATTRAT, FILE_SETATTR = 463, 469
CLONE_NEW = 0x7E020000  # any of the flags that make a namespace
CLONE3 = 435
# open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, quotactl_fd: the same on every machine
NEW_MOUNTS = (428, 429, 430, 431, 432, 433, 442, 443)
SET_FLAGS = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR


@dataclass(frozen=True)
class Machine:
    audit: int
    # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, ptrace, process_vm_readv and _writev, pidfd_getfd
    refused: tuple[int, ...]
    scheduling: tuple[int, ...]  # prlimit64, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
    socket: int
    socketpair: int
    naming: tuple[int, ...]  # bind, connect, listen
    setpriority: int
    ioprio_set: int
    ipc: tuple[int, ...]  # shmget, semget, msgget, mq_open
    setxattr: tuple[int, ...]  # setxattr, lsetxattr, fsetxattr
    ioctl: int
    clone: int
    # mount, umount2, pivot_root, unshare, setns, sethostname, setdomainname, syslog, quotactl, lookup_dcookie,
    # fanotify_init
    of_admins: tuple[int, ...]


MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(
        0xC000003E,
        (248, 249, 250, 321, 298, 323, 101, 310, 311, 438),
        (302, 142, 144, 203, 314),
        socket=41,
        socketpair=53,
        naming=(49, 42, 50),
        setpriority=141,
        ioprio_set=251,
        ipc=(29, 64, 68, 240),
        setxattr=(188, 189, 190),
        ioctl=16,
        clone=56,
        of_admins=(165, 166, 155, 272, 308, 170, 171, 103, 179, 212, 300),
    ),
    "aarch64": Machine(
        0xC00000B7,
        (217, 218, 219, 280, 241, 282, 117, 270, 271, 438),
        (261, 118, 119, 122, 274),
        socket=198,
        socketpair=199,
        naming=(200, 203, 201),
        setpriority=140,
        ioprio_set=30,
        ipc=(194, 190, 186, 180),
        setxattr=(5, 6, 7),
        ioctl=29,
        clone=220,
        of_admins=(40, 39, 41, 97, 268, 161, 162, 116, 60, 18, 262),
    ),
}


def program(
    machine: str | None = None, *, ipc: bool = False, contained: bool = False, shared: bool = False
) -> bytes | None:
    """None where the numbers of the system calls are not known here.

    `contained`: also without what an engine's own filter allows to a container that starts with CAP_SYS_ADMIN. A box
    of bubblewrap does without namespaces by other means. `shared`: for a box that shares the container's namespaces of
    pids, networks and IPC with others: no socket but a pair (an address may be abstract, or the network's), no System V
    IPC whatever `ipc` says, and nobody schedules another process.
    """
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    # 32-bit calls have other numbers: refusing them all keeps them from being a way around.
    code = [_load(ARCH_AT), *_unless_equal(known.audit, ERRNO | ENOSYS), _load(NUMBER_AT)]
    if known.audit == MACHINES["x86_64"].audit:
        code += [_step(JUMP_GREATER_EQUAL, X32_BIT, 0, 1), _step(RETURN, ERRNO | ENOSYS)]
    for number in IO_URING:
        code += _when_equal(number, [_step(RETURN, ERRNO | ENOSYS)])
    for number in known.refused:
        code += _when_equal(number, [_step(RETURN, ERRNO | EPERM)])
    others = ipc and not shared
    allowed = _when_equal(INIT_PID, [_step(RETURN, ERRNO | EPERM)]) if others else _unless_equal(MYSELF, ERRNO | EPERM)
    for number in known.scheduling:
        code += _when_equal(number, [_argument(0), *allowed, _step(RETURN, ALLOW)])
    for number, process in ((known.setpriority, PRIO_PROCESS), (known.ioprio_set, IOPRIO_WHO_PROCESS)):
        one = [_argument(0), *_unless_equal(process, ERRNO | EPERM)]
        code += _when_equal(number, [*one, _argument(1), *allowed, _step(RETURN, ALLOW)])
    families = () if shared else SOCKETS if ipc else UNIX_SOCKETS
    sockets = [step for family in families for step in _when_equal(family, [_step(RETURN, ALLOW)])]
    code += _when_equal(known.socket, [_argument(0), *sockets, _step(RETURN, ERRNO | EAFNOSUPPORT)])
    if shared:
        code += _nameless_pairs(known)
    if shared or not ipc:
        code += _no_ipc(known)
    if not ipc:
        code += _no_attributes(known)
    if contained:
        code += _no_administration(known)
    return b"".join([*code, _step(RETURN, ALLOW)])


def _nameless_pairs(known: Machine) -> list[bytes]:
    """A pair stays a pair. One of datagrams can be cut apart and given an abstract name, by bind or by SO_PASSCRED, and
    then any other box could be reached through it."""
    connected = [step for kind in (SOCK_STREAM, SOCK_SEQPACKET) for step in _when_equal(kind, [_step(RETURN, ALLOW)])]
    types = [_argument(1), _step(AND, SOCK_TYPES), *connected, _step(RETURN, ERRNO | EPERM)]
    code = _when_equal(known.socketpair, [_argument(0), *_unless_equal(UNIX_SOCKETS[0], ERRNO | EPERM), *types])
    for number in known.naming:
        code += _when_equal(number, [_step(RETURN, ERRNO | EPERM)])
    return code


def _no_ipc(known: Machine) -> list[bytes]:
    return [step for number in known.ipc for step in _when_equal(number, [_step(RETURN, ERRNO | ENOSYS)])]


def _no_attributes(known: Machine) -> list[bytes]:
    """As on kernels that know none of it: programs ask for an attribute, and go on without."""
    code: list[bytes] = []
    for number in (*known.setxattr, SETXATTRAT):
        code += _when_equal(number, [_step(RETURN, ERRNO | EOPNOTSUPP)])
    code += _when_equal(FILE_SETATTR, [_step(RETURN, ERRNO | ENOSYS)])
    flags = [step for request in SET_FLAGS for step in _when_equal(request, [_step(RETURN, ERRNO | EOPNOTSUPP)])]
    return code + _when_equal(known.ioctl, [_argument(1), *flags, _step(RETURN, ALLOW)])


def _no_administration(known: Machine) -> list[bytes]:
    code = [
        step
        for number in (*known.of_admins, *NEW_MOUNTS)
        for step in _when_equal(number, [_step(RETURN, ERRNO | EPERM)])
    ]
    code += _when_equal(CLONE3, [_step(RETURN, ERRNO | ENOSYS)])  # its flags cannot be seen here; libc then takes clone
    refused = [_step(JUMP_SET, CLONE_NEW, 0, 1), _step(RETURN, ERRNO | EPERM)]
    return code + _when_equal(known.clone, [_argument(0), *refused, _step(RETURN, ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _step(LOAD, offset)


def _argument(index: int) -> bytes:
    """The low half: these arguments are ints to the kernel, and both machines are little-endian."""
    return _load(ARGUMENTS_AT + 8 * index)


def _when_equal(value: int, steps: list[bytes]) -> list[bytes]:
    return [_step(JUMP_EQUAL, value, 0, len(steps)), *steps]


def _unless_equal(value: int, result: int) -> list[bytes]:
    return [_step(JUMP_EQUAL, value, 1, 0), _step(RETURN, result)]

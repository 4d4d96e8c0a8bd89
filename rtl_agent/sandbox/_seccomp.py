"""The system calls a box has to do without, as a program for the kernel's filter (bubblewrap's --seccomp).

Namespaces do not cover them: kernel keyrings and vsock reach the host, io_uring, bpf, perf and userfaultfd are where
kernels break most, and prlimit, setpriority and sched_* let a command starve or kill the init, which has the same uid.
Nor may one process look into another: a tool that a design made run C code could speak for the harness beside it.
"""

import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16
X32_BIT = 0x40000000
INIT_PID = 1
SOCKETS = (1, 2, 10, 16)  # unix, inet, inet6, netlink: the namespaces cover these
PRIO_PROCESS = 0
IO_URING = (425, 426, 427)


@dataclass(frozen=True)
class Machine:
    audit: int
    # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, ptrace, process_vm_readv and _writev, pidfd_getfd
    refused: tuple[int, ...]
    not_on_init: tuple[int, ...]  # prlimit64, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
    socket: int
    setpriority: int


MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(
        0xC000003E, (248, 249, 250, 321, 298, 323, 101, 310, 311, 438), (302, 142, 144, 203, 314), 41, 141
    ),
    "aarch64": Machine(
        0xC00000B7, (217, 218, 219, 280, 241, 282, 117, 270, 271, 438), (261, 118, 119, 122, 274), 198, 140
    ),
}


def program(machine: str | None = None) -> bytes | None:
    """None where the numbers of the system calls are not known here."""
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
    for number in known.not_on_init:
        code += _when_equal(number, [_argument(0), *_refuse_init(), _step(RETURN, ALLOW)])
    priority = [_argument(0), *_unless_equal(PRIO_PROCESS, ERRNO | EPERM), _argument(1), *_refuse_init()]
    code += _when_equal(known.setpriority, [*priority, _step(RETURN, ALLOW)])
    sockets = [step for family in SOCKETS for step in _when_equal(family, [_step(RETURN, ALLOW)])]
    code += _when_equal(known.socket, [_argument(0), *sockets, _step(RETURN, ERRNO | EAFNOSUPPORT)])
    return b"".join([*code, _step(RETURN, ALLOW)])


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


def _refuse_init() -> list[bytes]:
    return _when_equal(INIT_PID, [_step(RETURN, ERRNO | EPERM)])

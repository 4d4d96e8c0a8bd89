"""The parts of the sandbox that can be tried without a box."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.sandbox import _seccomp, cgroup
from rtl_agent.sandbox._inside.command import CpuCounter, Kept, parse
from rtl_agent.sandbox._inside.wire import pack, unpack


@pytest.mark.parametrize("fields", [[], [b""], [b"a", b"", b"\0\xff" * 70_000]])
def test_frames_come_out_as_they_went_in(fields: list[bytes]) -> None:
    frame = pack(fields)
    assert int.from_bytes(frame[:4], "little") == len(frame) - 4
    assert unpack(frame[4:]) == fields


@pytest.mark.parametrize("keep", [0, 1, 2, 7, 10])
@pytest.mark.parametrize("size", [0, 1, 5, 9, 10, 11, 3_000_000])
@pytest.mark.parametrize("step", [1, 4, 1_000_000])
def test_head_and_tail_are_kept(keep: int, size: int, step: int) -> None:
    data = bytes(n % 251 for n in range(min(size, 1000))) * max(1, size // 1000)
    step = max(step, len(data) // 100)
    kept = Kept(keep)
    for at in range(0, len(data), step):
        kept.add(data[at : at + step])
    half = keep // 2
    wanted = data if len(data) <= keep else data[: keep - half] + (data[-half:] if half else b"")
    assert kept.bytes() == wanted
    assert kept.total == len(data)


def run_filter(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """The kernel's machine for these four instructions."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(arguments + (0,) * 6)[:6])
    instructions: Iterator[tuple[int, int, int, int]] = struct.iter_unpack("<HBBI", program)
    steps = list(instructions)
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == _seccomp.RETURN:
            return operand
        if code == _seccomp.LOAD:
            value = struct.unpack_from("<I", data, operand)[0]
        else:
            at += if_true if (value == operand if code == _seccomp.JUMP_EQUAL else value >= operand) else if_false


@pytest.mark.parametrize("ipc", [False, True])
@pytest.mark.parametrize("name", _seccomp.MACHINES)
def test_the_filter_refuses_what_it_says(name: str, ipc: bool) -> None:
    machine = _seccomp.MACHINES[name]
    program = _seccomp.program(name, ipc=ipc)
    assert program is not None
    refused = _seccomp.ERRNO | _seccomp.EPERM

    def ask(number: int, *arguments: int) -> int:
        return run_filter(program, machine.audit, number, *arguments)

    assert [ask(number) for number in machine.refused] == [refused] * len(machine.refused)
    assert ask(425) == _seccomp.ERRNO | _seccomp.ENOSYS
    for number in machine.scheduling:
        assert ask(number, 1) == refused
        assert ask(number, 0) == _seccomp.ALLOW
        assert ask(number, 2) == (_seccomp.ALLOW if ipc else refused)
    for number, process in ((machine.setpriority, 0), (machine.ioprio_set, 1)):
        assert ask(number, process, 0) == _seccomp.ALLOW
        assert ask(number, process, 1) == ask(number, 2, 0) == refused
    assert ask(machine.socket, 1) == _seccomp.ALLOW
    assert (ask(machine.socket, 2) == _seccomp.ALLOW) is ipc
    for number in (*machine.ipc, *machine.setxattr, 463, 469):
        assert (ask(number) == _seccomp.ALLOW) is ipc
    assert (ask(machine.ioctl, 3, 0x40086602) == _seccomp.ALLOW) is ipc
    assert ask(machine.ioctl, 3, 0x5401) == _seccomp.ALLOW
    assert ask(machine.socket, 40) == _seccomp.ERRNO | _seccomp.EAFNOSUPPORT
    assert ask(0) == _seccomp.ALLOW
    assert run_filter(program, 0x40000003, 0) == _seccomp.ERRNO | _seccomp.ENOSYS


def test_unknown_machines_have_no_filter() -> None:
    assert _seccomp.program("pdp11") is None


def test_a_delegated_cgroup_is_found(tmp_path: Path) -> None:
    """As systemd lays it out for a user: the scope we are in hands nothing on, the slice above it does."""
    scope = tmp_path / "user.slice" / "app.slice" / "run.scope"
    scope.mkdir(parents=True)
    for folder, given in ((scope, ""), (scope.parent, "cpu memory pids"), (scope.parent.parent, "memory pids")):
        (folder / "cgroup.subtree_control").write_text(given)
        (folder / "cgroup.procs").write_text("")
    place = cgroup.find_v2(tmp_path, "0::/user.slice/app.slice/run.scope\n")
    assert place == cgroup.Place(2, scope.parent, scope.parent, scope.parent)
    assert cgroup.find_v2(tmp_path, "0::/elsewhere\n") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(b"1500000000\n", 1.5), (b"usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n", 1.5), (b"0\n", 0.0)],
)
def test_cpu_time_is_read_off_both_versions_of_cgroups(text: bytes, seconds: float) -> None:
    assert parse(text) == seconds


def test_the_counter_of_a_second_version_cgroup_is_its_own(tmp_path: Path) -> None:
    place = cgroup.Place(2, tmp_path, tmp_path, tmp_path)
    real, made = Path.mkdir, list[Path]()

    def mkdir(self: Path) -> None:  # as the kernel does: a new directory comes with its files
        real(self)
        made.append(self)
        for name, text in (("cgroup.procs", ""), ("cpu.stat", "usage_usec 250000\nuser_usec 250000\n")):
            (self / name).write_text(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "mkdir", mkdir)
        group = cgroup.make(place, 1 << 20, 10)
    try:
        assert group.paths == made
        assert CpuCounter(group.cpu).seconds() == 0.25
    finally:
        group.close()
    assert CpuCounter([]).seconds() == 0.0


def test_where_boxes_get_their_limits_is_said_in_words() -> None:
    assert "cgroup" in cgroup.describe()

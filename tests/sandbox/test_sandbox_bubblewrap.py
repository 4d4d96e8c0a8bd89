"""What is true of the bubblewrap sandbox beyond the conformance suite, whoever starts it."""

import asyncio
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from rtl_agent.sandbox import MIB, BoxSpec, BubblewrapSandbox, Limits, SandboxError, _box, check_available
from rtl_agent.sandbox.available import _explain
from tests.sandbox.conftest import Start

# A shell starts background jobs with interrupts ignored, and Python leaves that as it finds it.
HOLD = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox
async def hold():
    async with BubblewrapSandbox(slots=2).open(BoxSpec()) as box:
        print(box.init_pid, flush=True)
        await box.run(["sh", "-c", "setsid sleep 600 & sleep 600"])
asyncio.run(hold())
"""


CHURN = """
import asyncio
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox
async def churn(sandbox):
    while True:
        async with sandbox.open(BoxSpec()) as box:
            await box.run(["true"])
async def main():
    sandbox = BubblewrapSandbox(slots=4)
    print("started", flush=True)
    await asyncio.gather(*(churn(sandbox) for _ in range(4)))
asyncio.run(main())
"""


def children() -> set[str]:
    """Of the whole process, threads included."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def open_fds() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def abandoned() -> set[str]:
    """bubblewraps that sleep with nobody to answer to."""
    return {path.parent.name for path in Path("/proc").glob("[0-9]*/stat") if is_abandoned(path)}


def is_abandoned(stat: Path) -> bool:
    try:
        name, fields = stat.read_text().split("(", 1)[1].rsplit(")", 1)
    except OSError:
        return False
    return name == "bwrap" and fields.split()[:2] == ["S", "1"]


async def gone(pid: int) -> bool:
    """Dead, though whoever inherited it may be slow to reap it."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        await asyncio.sleep(0.05)
    return False


def descendants(pid: int) -> list[int]:
    kids = [int(kid) for kid in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return kids + [below for kid in kids for below in descendants(kid)]


async def test_twenty_boxes_at_once() -> None:
    sandbox = BubblewrapSandbox(slots=20)

    async def work(number: int) -> bytes:
        async with sandbox.open(BoxSpec()) as box:
            await box.write("/code/number", b"%d" % number)
            await box.run(["sleep", "0.2"])
            return (await box.run(["cat", "/code/number"])).stdout

    assert await asyncio.gather(*(work(number) for number in range(20))) == [b"%d" % number for number in range(20)]


async def test_opening_waits_for_a_slot() -> None:
    sandbox = BubblewrapSandbox(slots=1)
    order = []

    async def work(name: str) -> None:
        async with sandbox.open(BoxSpec()) as box:
            order.append(f"{name} in")
            await box.run(["sleep", "0.1"])
            order.append(f"{name} out")

    await asyncio.gather(work("a"), work("b"))
    assert order == ["a in", "a out", "b in", "b out"]


async def test_nothing_is_left_of_a_box() -> None:
    sandbox = BubblewrapSandbox(slots=2)
    async with sandbox.open(BoxSpec()):
        pass  # the first one takes a lock on its uid, which is kept
    fds, before = open_fds(), children()
    for _ in range(5):
        async with sandbox.open(BoxSpec()) as box:
            await box.run(["sh", "-c", "setsid sleep 60 &"])
            pid = box.init_pid
        assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(SandboxError):
        async with sandbox.open(BoxSpec(links={"/usr/bin/env": "/nowhere"})):
            pass
    with pytest.raises(ValueError, match="absolute"):
        async with sandbox.open(BoxSpec(writable=("code",))):
            pass
    assert open_fds() == fds
    assert children() == before


async def test_cancelling_at_any_moment_leaves_nothing() -> None:
    sandbox = BubblewrapSandbox(slots=1)

    async def work() -> None:
        async with sandbox.open(BoxSpec()) as box:
            await box.run(["sleep", "60"])

    async with sandbox.open(BoxSpec()):
        pass
    fds, before = open_fds(), children()

    left_before = abandoned()
    for delay in (0, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1):
        task = asyncio.create_task(work())
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert open_fds() == fds
    assert children() == before
    assert abandoned() <= left_before


async def test_a_cancelled_box_says_so() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await box.run(["sleep", "60"])
        with pytest.raises(SandboxError, match="cancelled"):
            await box.run(["true"])


@pytest.mark.parametrize("ordinary", [False, True])
async def test_killing_the_host_process_ends_its_boxes(start: Start, ordinary: bool) -> None:
    host = start(HOLD, ordinary=ordinary)
    init = int(host.stdout.readline())
    await asyncio.sleep(0.3)
    inside = descendants(init)
    assert len(inside) >= 2
    host.kill()
    for pid in (init, *inside):
        assert await gone(pid)
    mounted = Path("/proc/self/mountinfo").read_text()  # with those of daemons that tests beside this one started
    assert not re.search(r"/rtl-agent(-root)?/stage", mounted)


async def test_killing_a_host_that_opens_boxes_leaves_nothing(start: Start) -> None:
    """Also in the middle of a box's start."""
    before = abandoned()
    for delay in (0.05, 0.1, 0.15, 0.2):
        hosts = [start(CHURN) for _ in range(3)]
        for host in hosts:
            host.stdout.readline()
        await asyncio.sleep(delay)
        for host in hosts:
            host.kill()
    # What is left two seconds after the last kill. Later ones belong to tests beside this one, which kill hosts too.
    left: set[str] = set()
    for _ in range(40):
        left |= abandoned() - before
        await asyncio.sleep(0.05)
    for _ in range(1200):  # a minute: on a busy machine the last of them takes more than five seconds to notice
        if not left & abandoned():
            break
        await asyncio.sleep(0.05)
    assert not left & abandoned()


async def test_an_interrupt_ends_the_boxes(start: Start) -> None:
    host = start(HOLD)
    init = int(host.stdout.readline())
    host.send_signal(signal.SIGINT)
    host.wait(timeout=20)
    assert await gone(init)


async def test_a_dead_init_is_the_sandboxs_fault() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        running = asyncio.create_task(box.run(["sleep", "60"]))
        await asyncio.sleep(0.2)
        os.kill(box.init_pid, signal.SIGKILL)
        with pytest.raises(SandboxError, match="died"):
            await running


async def test_a_stuck_init_is_the_sandboxs_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_box, "GRACE_SECONDS", 0.5)
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        os.kill(box.init_pid, signal.SIGSTOP)
        with pytest.raises(SandboxError, match="answer"):
            await box.run(["true"], limits=Limits(wall_seconds=0.2))
        pid = box.init_pid
    assert not Path(f"/proc/{pid}").exists()


async def test_an_output_pipe_smuggled_out_does_not_hang_the_box() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        async with BubblewrapSandbox(slots=1).open(BoxSpec(), pass_fds=[theirs.fileno()]) as box:
            send = f"socket.send_fds(socket.socket(fileno={theirs.fileno()}), [b'x'], [1])"
            code = f"import socket; print('x', flush=True); {send}"
            start = time.monotonic()
            result = await box.run(["python3", "-c", code], pass_fds=[theirs.fileno()])
            assert result.stdout == b"x\n"
            assert time.monotonic() - start < 10


async def test_a_box_goes_before_others_when_memory_runs_out() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec(proc=True)) as box:
        assert (await box.run(["cat", "/proc/self/oom_score_adj"])).stdout == b"1000\n"
        assert Path(f"/proc/{box.init_pid}/oom_score_adj").read_text() == "1000\n"


async def test_fds_that_were_not_handed_over_are_refused() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        with pytest.raises(ValueError, match="not handed over"):
            await box.run(["true"], pass_fds=[1])


async def test_another_python_can_run_the_init() -> None:
    python = Path(getattr(sys, "_base_executable", sys.executable))
    async with BubblewrapSandbox(slots=1, python=python).open(BoxSpec()) as box:
        assert (await box.run(["echo", "hello"])).stdout == b"hello\n"


async def test_busy_processes_do_not_keep_the_init_from_its_deadline() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec(processes=200)) as box:
        script = "for n in $(seq 190); do (while :; do :; done) & done; wait"
        result = await box.run(["sh", "-c", script], limits=Limits(wall_seconds=1))
        assert result.wall_seconds < 8


async def test_nested_places_are_mounted_from_the_outside_in() -> None:
    spec = BoxSpec(writable=("/a/b/c", "/a"), disk_bytes=MIB)
    async with BubblewrapSandbox(slots=1).open(spec) as box:
        for path in ("/a/x", "/a/b/c/x"):
            await box.write(path, bytes(900_000))
            assert len(await box.read(path)) == 900_000


def test_this_machine_can_run_boxes() -> None:
    assert check_available() == []


def test_a_missing_bubblewrap_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert check_available() == ["bwrap is not installed: run `apt-get install bubblewrap`"]
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        BubblewrapSandbox(slots=1)


def test_failures_of_bubblewrap_are_explained() -> None:
    assert "namespaces" in _explain("bwrap: No permissions to create new namespace")
    assert "0.8" in _explain("bwrap: Unknown option --disable-userns")
    assert "python3" in _explain("ModuleNotFoundError: No module named '_ctypes'")

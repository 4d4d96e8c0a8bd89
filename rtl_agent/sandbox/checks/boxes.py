"""How boxes begin, end and keep apart from each other."""

import asyncio
import time
from pathlib import Path

from rtl_agent.sandbox.checks.common import box_of, expect, expect_equal, python, shell
from rtl_agent.sandbox.protocol import Limits, Mount, Sandbox, SandboxError


async def check_boxes_do_not_share_files(sandbox: Sandbox) -> None:
    """Boxes open at once do not see each other's files."""
    async with box_of(sandbox, ipc=True) as one, box_of(sandbox, ipc=True) as two:
        for place in ("/code", "/tmp", "/dev/shm"):
            await shell(one, f"echo secret > {place}/file")
            expect_equal((await shell(two, f"ls -A {place}")).stdout, b"")


async def check_boxes_do_not_share_processes(sandbox: Sandbox) -> None:
    """Boxes open at once cannot see, signal or talk to each other's processes."""
    async with box_of(sandbox, proc=True) as one, box_of(sandbox, proc=True) as two:
        listen = "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('\\0x'); s.listen()"
        running = asyncio.create_task(python(one, f"{listen}; time.sleep(1); print('alive')"))
        await asyncio.sleep(0.3)
        seen = await shell(two, "cat /proc/*/cmdline; kill -9 -1")
        expect(b"alive" not in seen.stdout, seen)
        expect(not (await python(two, "import socket; socket.socket(socket.AF_UNIX).connect('\\0x')")).ok, "connected")
        expect_equal((await running).stdout, b"alive\n")


async def check_boxes_do_not_share_memory(sandbox: Sandbox) -> None:
    """System V shared memory of one box is not there in another."""
    make = "import ctypes; print(ctypes.CDLL(None).shmget(4711, 4096, {flags}))"
    async with box_of(sandbox, ipc=True) as one, box_of(sandbox, ipc=True) as two:
        expect((await python(one, make.format(flags=0o1666))).stdout.strip() != b"-1", "none can be made")
        expect_equal((await python(two, make.format(flags=0o666))).stdout.strip(), b"-1")


async def check_new_box_is_clean(sandbox: Sandbox) -> None:
    """A new box has nothing of an earlier one."""
    for _ in range(2):
        async with box_of(sandbox) as box:
            expect_equal(
                (await shell(box, "ls -A /code /tmp | grep -v :; echo x > /code/x; echo x > /tmp/x")).stdout.strip(),
                b"",
            )


async def check_boxes_run_at_once(sandbox: Sandbox) -> None:
    """Commands in different boxes run at the same time."""
    async with box_of(sandbox) as one, box_of(sandbox) as two:
        start = time.monotonic()
        await asyncio.gather(*(box.run(["sleep", "1"]) for box in (one, two)))
        expect(time.monotonic() - start < 1.9, "one after the other")


async def check_calls_to_one_box_queue(sandbox: Sandbox) -> None:
    """Calls to one box made at once are served one after another, each with its own answer."""
    async with box_of(sandbox) as box:
        results = await asyncio.gather(*(box.run(["echo", str(number)]) for number in range(10)))
        expect_equal([int(result.stdout) for result in results], list(range(10)))


async def check_box_ends_with_context(sandbox: Sandbox) -> None:
    """A box that was left refuses further calls."""
    async with box_of(sandbox) as box:
        pass
    try:
        await box.run(["true"])
    except SandboxError:
        return
    expect(False, "it still runs commands")


async def check_cancelling_a_command(sandbox: Sandbox) -> None:
    """Cancelling a call ends the command at once; the box can still be left, and others opened."""
    start = time.monotonic()
    async with box_of(sandbox) as box:
        running = asyncio.create_task(box.run(["sleep", "60"], limits=Limits(wall_seconds=60)))
        await asyncio.sleep(0.2)
        running.cancel()
        await asyncio.wait([running])
        expect(running.cancelled(), "not cancelled")
    expect(time.monotonic() - start < 10, "leaving took too long")
    async with box_of(sandbox) as box:
        expect((await box.run(["true"])).ok, "the next box does not work")


async def check_error_inside_context(sandbox: Sandbox) -> None:
    """An exception in the caller's own code comes out as it is."""
    try:
        async with box_of(sandbox):
            raise KeyError("mine")
    except KeyError:
        return
    expect(False, "the exception was lost")


async def check_missing_mount_source(sandbox: Sandbox) -> None:
    """A mount whose source is not there is a SandboxError that names it."""
    try:
        async with box_of(sandbox, mounts=[Mount(Path("/no/such/source"), "/x")]):
            pass
    except SandboxError as error:
        return expect("/no/such/source" in str(error), error)
    expect(False, "no error")

"""What a command may use, and that nothing of it outlives its end."""

from rtl_agent.sandbox.checks.common import QUICK, box_of, expect, expect_equal, expect_usable, python, shell
from rtl_agent.sandbox.protocol import MIB, Box, Ended, Limits, Sandbox

SOON = Limits(wall_seconds=0.4)
BEAT = "while true; do echo x >> /code/beat; sleep 0.02; done"


async def expect_silence(box: Box) -> None:
    """Nothing writes to /code/beat any more."""
    before = await shell(box, "stat -c %s /code/beat; sleep 0.2; stat -c %s /code/beat")
    sizes = before.stdout.split()
    expect(len(sizes) == 2, f"the background process never ran: {before}")
    expect_equal(sizes[0], sizes[1])


async def check_wall_time(sandbox: Sandbox) -> None:
    """A command is killed when its wall time is over, and the result says why."""
    async with box_of(sandbox) as box:
        result = await shell(box, "sleep 60", SOON)
        expect(result.ended is Ended.WALL_TIME and result.exit_code == -9 and not result.ok, result)
        expect(0.4 <= result.wall_seconds < 10, result.wall_seconds)
        await expect_usable(box)


async def check_wall_time_ends_tree(sandbox: Sandbox) -> None:
    """At the deadline the whole process tree ends, processes in sessions of their own included."""
    async with box_of(sandbox) as box:
        for start in (f"({BEAT}) & wait", f"setsid sh -c '{BEAT}' & wait", f"(setsid sh -c '({BEAT}) &' &); sleep 60"):
            result = await shell(box, f"rm -f /code/beat; {start}", SOON)
            expect(result.ended is Ended.WALL_TIME, result)
            await expect_silence(box)


async def check_stubborn_process(sandbox: Sandbox) -> None:
    """Ignoring every signal does not help against the deadline."""
    async with box_of(sandbox) as box:
        ignore = "for number in signal.valid_signals() - {9, 19}: signal.signal(number, signal.SIG_IGN)"
        code = f"import signal, time\n{ignore}\ntime.sleep(60)"
        expect((await python(box, code, SOON)).ended is Ended.WALL_TIME, "not ended")


async def check_stopped_process(sandbox: Sandbox) -> None:
    """A command that stops itself is ended at its deadline."""
    async with box_of(sandbox) as box:
        expect((await shell(box, "kill -STOP $$; sleep 60", SOON)).ended is Ended.WALL_TIME, "not ended")
        await expect_usable(box)


async def check_background_ends(sandbox: Sandbox) -> None:
    """What a command left running is dead when its result is there, daemons included."""
    async with box_of(sandbox) as box:
        for start in (f"({BEAT}) &", f"setsid sh -c '{BEAT}' & ", f"(setsid sh -c '({BEAT}) &' &) &"):
            result = await shell(box, f"rm -f /code/beat; {start} while [ ! -e /code/beat ]; do sleep 0.01; done")
            expect(result.ok, result)
            await expect_silence(box)


async def check_cpu_time(sandbox: Sandbox) -> None:
    """A process that uses up its CPU time is ended by a signal, even if it ignores the first one."""
    async with box_of(sandbox) as box:
        limits = Limits(wall_seconds=30, cpu_seconds=1)
        code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
        result = await python(box, code, limits)
        expect(result.ended is Ended.SIGNALLED and 0.9 < result.cpu_seconds < 4, result)


async def check_memory(sandbox: Sandbox) -> None:
    """A process cannot have more memory than the box."""
    async with box_of(sandbox, memory_bytes=256 * MIB) as box:
        expect((await python(box, "b'x' * 100_000_000")).ok, "100 MB of 256 MiB")
        expect(not (await python(box, "b'x' * 400_000_000")).ok, "400 MB of 256 MiB")
        await expect_usable(box)


async def check_memory_of_many(sandbox: Sandbox) -> None:
    """Processes that together want far too much end as a result, not as a failure of the sandbox."""
    async with box_of(sandbox, memory_bytes=128 * MIB, processes=16) as box:
        code = (
            "import os, time\nfor _ in range(12):\n    if os.fork() == 0: break\nx = b'x' * 60_000_000\ntime.sleep(0.3)"
        )
        await python(box, code, Limits(wall_seconds=5))
        await expect_usable(box)


async def check_fork_bomb(sandbox: Sandbox) -> None:
    """A fork bomb is contained and leaves the box usable."""
    async with box_of(sandbox, processes=40) as box:
        code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
        for _ in range(2):
            expect((await python(box, code, SOON)).ended is Ended.WALL_TIME, "not ended")
            await expect_usable(box)


async def check_process_count(sandbox: Sandbox) -> None:
    """A box has no more than `processes` processes at once; threads count."""
    async with box_of(sandbox, processes=20) as box:
        code = (
            "import os, sys\ncount = 1\n"
            "for _ in range(100):\n"
            "    try:\n        if os.fork() == 0: os.read(0, 1); os._exit(0)\n"
            "    except OSError: break\n"
            "    count += 1\n"
            "print(count)"
        )
        stuck = code.replace("os.read(0, 1)", "import time; time.sleep(20)")
        result = await python(box, stuck)
        expect(result.ok and 15 <= int(result.stdout) <= 20, result)


async def check_thread_bomb(sandbox: Sandbox) -> None:
    """Threads without end are contained as well."""
    async with box_of(sandbox, processes=40) as box:
        start = "    try: _thread.start_new_thread(time.sleep, (60,))\n    except RuntimeError: pass"
        code = f"import _thread, time\nwhile True:\n{start}"
        expect(not (await python(box, code, SOON)).ok, "not ended")
        await expect_usable(box)


async def check_file_size(sandbox: Sandbox) -> None:
    """One file cannot grow beyond `file_bytes`."""
    async with box_of(sandbox) as box:
        result = await shell(box, "head -c 5000000 /dev/zero > /code/file", Limits(file_bytes=1 * MIB))
        expect(not result.ok, result)
        expect_equal((await shell(box, "stat -c %s /code/file")).stdout.strip(), b"%d" % MIB)


async def check_open_files(sandbox: Sandbox) -> None:
    """Open files have a limit."""
    async with box_of(sandbox) as box:
        code = "import os\nn = 0\ntry:\n    while n < 100000: os.dup(1); n += 1\nexcept OSError: print(n < 100000)"
        expect_equal((await python(box, code)).stdout.strip(), b"True")


async def check_no_core_dump(sandbox: Sandbox) -> None:
    """A crash leaves no core file."""
    async with box_of(sandbox) as box:
        await box.run(["sh", "-c", "kill -ABRT $$"], cwd="/code")
        expect_equal((await shell(box, "ls -A /code")).stdout, b"")


async def check_limits_cannot_be_raised(sandbox: Sandbox) -> None:
    """A command cannot raise its own limits."""
    async with box_of(sandbox) as box:
        result = await shell(
            box, "ulimit -t 1000 && ulimit -f unlimited && echo raised", Limits(cpu_seconds=5, file_bytes=MIB)
        )
        expect(b"raised" not in result.stdout, result)


async def check_endless_symlinks(sandbox: Sandbox) -> None:
    """Links that lead in a circle are an error, not a hang."""
    async with box_of(sandbox) as box:
        result = await box.run(["sh", "-c", "ln -s b /code/a; ln -s a /code/b; cat /code/a"], limits=QUICK)
        expect(result.ended is Ended.EXITED and not result.ok, result)

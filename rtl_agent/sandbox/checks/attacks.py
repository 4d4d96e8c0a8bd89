"""What a command may try against the box itself. Each ends as a result, and the box goes on working."""

from rtl_agent.sandbox.checks.common import box_of, expect, expect_error, expect_usable, python, shell
from rtl_agent.sandbox.checks.isolation import CALL, LIBC
from rtl_agent.sandbox.protocol import Limits, Sandbox


async def check_init_cannot_be_harmed(sandbox: Sandbox) -> None:
    """Pid 1 of the box can be neither signalled away, traced, throttled nor limited."""
    async with box_of(sandbox) as box:
        for number in (1, 2, 9, 11, 15, 19, 20):
            await shell(box, f"kill -{number} 1")
        await expect_usable(box)
        if (await shell(box, "kill -0 1")).ok:  # else pid 1 is not even there for the command
            await expect_error(box, LIBC + CALL.format(call="libc.ptrace(16, 1, 0, 0)"))
            await expect_error(box, LIBC + CALL.format(call="libc.ptrace(0x4206, 1, 0, 0)"))
            await expect_error(box, "import resource; resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))")
            await expect_error(box, "import os; os.setpriority(os.PRIO_PROCESS, 1, 19)")
            await expect_error(box, "import os; os.setpriority(os.PRIO_USER, os.getuid(), 19)")
            await expect_error(box, "import os; os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))")
        await expect_usable(box)


async def check_processes_cannot_look_into_each_other(sandbox: Sandbox) -> None:
    """A process can neither trace another one of its box nor take over its file descriptors."""
    async with box_of(sandbox) as box:
        victim = "import os, signal, time\nother = os.fork()\nif other == 0: time.sleep(20); os._exit(0)\n"
        for call in ("libc.ptrace(16, other, 0, 0)", "libc.syscall(438, os.pidfd_open(other), 0, 0)"):
            result = await python(box, LIBC + victim + f"print({call}); os.kill(other, signal.SIGKILL)")
            expect(result.stdout.strip() == b"-1", result)


async def check_kill_everything(sandbox: Sandbox) -> None:
    """A command that kills everything it can reach ends as a result; the box goes on working."""
    async with box_of(sandbox) as box:
        for number in (9, 15, 19):
            result = await python(box, f"import os; os.kill(-1, {number}); os.kill(os.getpid(), 9)")
            expect(not result.ok, result)
            await expect_usable(box)


async def check_init_as_tracer(sandbox: Sandbox) -> None:
    """A command that makes pid 1 its tracer, as a process, an orphan or a thread, confuses nobody."""
    trace = LIBC + "import signal, time\ndef trace():\n    libc.ptrace(0, 0, 0, 0)\n"
    orphans = (
        "for _ in range(10):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork(): os._exit(0)\n"
        "        while os.getppid() != 1: pass\n"
        "        trace(); os.kill(os.getpid(), signal.SIGSTOP)\n"
        "time.sleep(0.2)"
    )
    threads = (
        "import _thread\n_thread.start_new_thread(lambda: (trace(), time.sleep(60)), ())\ntime.sleep(0.2); os._exit(0)"
    )
    async with box_of(sandbox) as box:
        for code in (
            "trace(); os.kill(os.getpid(), signal.SIGSTOP)",
            "trace(); os.execv('/bin/true', ['x'])",
            orphans,
            threads,
        ):
            await python(box, trace + code, Limits(wall_seconds=1))
            await expect_usable(box)


async def check_signals_by_detour(sandbox: Sandbox) -> None:
    """Signals sent through a file's owner do not reach pid 1 either."""
    f_setsig = 10
    code = (
        "import fcntl, socket\n"
        "for number in (9, 19, 11):\n"
        "    a, b = socket.socketpair()\n"
        f"    fcntl.fcntl(a, {f_setsig}, number); fcntl.fcntl(a, fcntl.F_SETOWN, 1)\n"
        "    fcntl.fcntl(a, fcntl.F_SETFL, fcntl.fcntl(a, fcntl.F_GETFL) | fcntl.FASYNC)\n"
        "    b.send(b'x')"
    )
    async with box_of(sandbox) as box:
        await python(box, code)
        await expect_usable(box)


async def check_locked_directory(sandbox: Sandbox) -> None:
    """A command that forbids its directories to everybody does not stop the next one, nor other places."""
    async with box_of(sandbox) as box:
        await shell(box, "mkdir /code/inner; chmod 000 /code/inner /code /tmp")
        await expect_usable(box)
        result = await shell(box, "chmod 755 /code /code/inner && touch /code/inner/file")
        expect(result.ok, result)


async def check_success_after_the_end(sandbox: Sandbox) -> None:
    """A command ended at its deadline never looks like one that succeeded, whatever it exits with."""
    async with box_of(sandbox) as box:
        code = (
            LIBC
            + "import _thread, time\n_thread.start_new_thread(lambda: (libc.ptrace(0, 0, 0, 0), time.sleep(60)), ())\n"
        )
        result = await python(box, code + "time.sleep(0.2); os._exit(0)", Limits(wall_seconds=1))
        expect(result.ok or result.exit_code != 0, result)

"""Checks: commands are run as they are given, and their output is kept within bounds."""

from rtl_agent.sandbox.checks.common import (
    QUICK,
    box_of,
    expect,
    expect_equal,
    expect_output,
    expect_usable,
    python,
    shell,
)
from rtl_agent.sandbox.protocol import MIB, Ended, Limits, Sandbox


async def check_success(sandbox: Sandbox) -> None:
    """A command that ends well has exit code 0 and is ok."""
    async with box_of(sandbox) as box:
        result = await box.run(["true"])
        expect(result.ok and result.exit_code == 0 and result.ended is Ended.EXITED, result)


async def check_exit_code(sandbox: Sandbox) -> None:
    """The exit code is the command's own."""
    async with box_of(sandbox) as box:
        result = await shell(box, "exit 42")
        expect(result.exit_code == 42 and result.ended is Ended.EXITED and not result.ok, result)


async def check_signal(sandbox: Sandbox) -> None:
    """A command ended by signal N has exit code -N."""
    async with box_of(sandbox) as box:
        result = await shell(box, "kill -SEGV $$")
        expect(result.exit_code == -11 and result.ended is Ended.SIGNALLED, result)


async def check_missing_program(sandbox: Sandbox) -> None:
    """A program that is not there is exit code 127 with a reason on stderr, not an exception."""
    async with box_of(sandbox) as box:
        for name in ("no-such-program", "/no/such/program"):
            result = await box.run([name])
            expect(result.exit_code == 127 and result.stderr != b"", result)


async def check_unrunnable_program(sandbox: Sandbox) -> None:
    """A file that cannot be executed is exit code 126, not an exception."""
    async with box_of(sandbox) as box:
        await box.write("/code/text", b"no program")
        expect_equal((await box.run(["/code/text"])).exit_code, 126)
        await box.write("/code/garbage", b"\x7fELF garbage", mode=0o755)
        expect_equal((await box.run(["/code/garbage"])).exit_code, 126)


async def check_missing_cwd(sandbox: Sandbox) -> None:
    """A working directory that is not there is a result, not an exception."""
    async with box_of(sandbox) as box:
        result = await box.run(["true"], cwd="/no/such/place")
        expect(result.exit_code in (126, 127), result)


async def check_huge_argv(sandbox: Sandbox) -> None:
    """Arguments or an environment beyond what the kernel takes are a result, not an exception."""
    async with box_of(sandbox) as box:
        expect((await box.run(["echo", "x" * 3 * MIB])).exit_code in (126, 127), "huge argument")
        expect((await box.run(["echo", *["x" * 1000] * 10_000])).exit_code in (126, 127), "many arguments")
        expect((await box.run(["env"], env={"A": "x" * 3 * MIB})).exit_code in (126, 127), "huge environment")
        expect((await box.run(["echo", "a\0b"])).exit_code in (126, 127), "a NUL in an argument")
        await expect_usable(box)


async def check_arguments_verbatim(sandbox: Sandbox) -> None:
    """Arguments arrive as they are: spaces, newlines, quotes, empty ones, no shell in between."""
    async with box_of(sandbox) as box:
        given = ["a b", "c\nd", "'\"$HOME`id`", "", "é☃", "-n", "*"]
        result = await box.run(["printf", "%s\\0", *given])
        expect_equal(result.stdout.decode().split("\0")[:-1], given)


async def check_environment_is_as_given(sandbox: Sandbox) -> None:
    """The environment is just what was given, and by default nothing."""
    async with box_of(sandbox) as box:
        given = {"A": "1", "B": "two words", "C": "", "D": "é=☃\nnext"}
        result = await box.run(["env", "-0"], env=given)
        expect_equal(dict(pair.split("=", 1) for pair in result.stdout.decode().split("\0")[:-1]), given)
        expect_equal((await box.run(["env"])).stdout, b"")


async def check_path_is_searched(sandbox: Sandbox) -> None:
    """A program without a slash is looked for in the PATH that was given."""
    async with box_of(sandbox) as box:
        await box.write("/code/bin/mine", b"#!/bin/sh\necho found\n", mode=0o755)
        expect_equal((await box.run(["mine"], env={"PATH": "/nowhere:/code/bin"})).stdout, b"found\n")
        expect_equal((await box.run(["mine"], env={"PATH": "/nowhere"})).exit_code, 127)


async def check_cwd(sandbox: Sandbox) -> None:
    """A command starts in the working directory that was given, by default /."""
    async with box_of(sandbox) as box:
        expect_equal((await box.run(["pwd"], cwd="/code")).stdout, b"/code\n")
        expect_equal((await box.run(["pwd"])).stdout, b"/\n")


async def check_stdin(sandbox: Sandbox) -> None:
    """Stdin is what was given, whatever its size; by default it is empty."""
    async with box_of(sandbox) as box:
        expect_equal((await box.run(["cat"], stdin=b"a\0b\xff\n")).stdout, b"a\0b\xff\n")
        expect_equal((await box.run(["wc", "-c"], stdin=b"x" * 5_000_001)).stdout.strip(), b"5000001")
        expect_equal((await box.run(["wc", "-c"], limits=QUICK)).stdout.strip(), b"0")
        expect((await box.run(["true"], stdin=b"x" * MIB)).ok, "stdin that nobody reads")


async def check_time_accounting(sandbox: Sandbox) -> None:
    """Wall time counts sleeping, CPU time does not; children count, waited for or not."""
    async with box_of(sandbox) as box:
        asleep = await shell(box, "sleep 0.3")
        expect(asleep.wall_seconds >= 0.3 and asleep.cpu_seconds < 0.25, asleep)
        spin = f"{_SPIN}spin(0.3)"
        busy = await python(box, spin)
        expect(busy.cpu_seconds >= 0.3, busy)
        waited = await python(box, f"import os\nif os.fork() == 0:\n    {_SPIN_LINE}\nelse:\n    os.wait()")
        expect(waited.cpu_seconds >= 0.3, waited)
        wait = "import time\n    while not os.path.exists('/code/done'): time.sleep(0.01)"
        orphan = await python(
            box, f"import os\nif os.fork() == 0:\n    {_SPIN_LINE}; os.mkdir('/code/done')\nelse:\n    {wait}"
        )
        expect(orphan.cpu_seconds >= 0.3, orphan)


_SPIN = "import time\ndef spin(seconds):\n    while time.process_time() < seconds: pass\n"
_SPIN_LINE = f"exec({_SPIN!r} + 'spin(0.3)')"


async def check_peak_memory(sandbox: Sandbox) -> None:
    """The peak of resident memory is reported."""
    async with box_of(sandbox) as box:
        result = await python(box, "b'x' * 100_000_000")
        expect(100_000_000 < result.max_rss_bytes < 200_000_000, result)


async def check_many_commands(sandbox: Sandbox) -> None:
    """A box runs a hundred commands and more, one after another."""
    async with box_of(sandbox) as box:
        for number in range(120):
            result = await box.run(["echo", str(number)])
            expect(result.stdout == b"%d\n" % number, result)


async def check_own_session(sandbox: Sandbox) -> None:
    """A command has a session of its own and no terminal."""
    async with box_of(sandbox) as box:
        await expect_output(box, "import os; print(os.getsid(0) == os.getpid())", "True")
        expect(not (await shell(box, "exec 3<> /dev/tty")).ok, "there is a terminal")


async def check_default_signals(sandbox: Sandbox) -> None:
    """Signals are as a new program expects them: a closed pipe ends it, nothing is ignored."""
    async with box_of(sandbox) as box:
        result = await box.run(["sh", "-c", "yes | head -n 1"], limits=QUICK)
        expect(result.ok and result.stdout == b"y\n", result)
        ignored = "import signal; print([s for s in signal.valid_signals() if signal.getsignal(s) is signal.SIG_IGN])"
        result = await python(box, ignored)
        # Python itself ignores SIGPIPE and SIGXFSZ.
        expect_equal(result.stdout.count(b"<"), 2)


async def check_streams_apart(sandbox: Sandbox) -> None:
    """Stdout and stderr are kept apart."""
    async with box_of(sandbox) as box:
        result = await shell(box, "echo out; echo err >&2")
        expect_equal((result.stdout, result.stderr), (b"out\n", b"err\n"))


async def check_utf8_output(sandbox: Sandbox) -> None:
    """UTF-8 comes out as it is."""
    async with box_of(sandbox) as box:
        expect_equal((await box.run(["echo", "grün ☃ 漢字"])).stdout.decode(), "grün ☃ 漢字\n")


async def check_binary_output(sandbox: Sandbox) -> None:
    """Every byte comes out as it is, on both streams, up to the kept size without a gap."""
    async with box_of(sandbox) as box:
        code = "import sys; d = bytes(range(256)) * 4096; sys.stdout.buffer.write(d); sys.stderr.buffer.write(d[::-1])"
        result = await python(box, code)
        wanted = bytes(range(256)) * 4096
        expect(result.stdout == wanted and result.stderr == wanted[::-1], "bytes differ")
        expect(not result.truncated, "truncated although it fits")


async def check_head_and_tail(sandbox: Sandbox) -> None:
    """Of a long stream the first and the last half of `keep_bytes` are kept, and the result says so."""
    async with box_of(sandbox) as box:
        code = "import sys; sys.stdout.write('HEAD' + 'x' * 3_000_000 + 'TAIL'); sys.stderr.write('short')"
        result = await python(box, code, Limits(keep_bytes=1000))
        expect(result.ok and result.truncated, "not truncated")
        expect(result.stdout.startswith(b"HEAD") and result.stdout.endswith(b"TAIL"), "head or tail is missing")
        expect_equal((len(result.stdout), result.stderr), (1000, b"short"))


async def check_output_flood(sandbox: Sandbox) -> None:
    """A command that prints without end is ended at `output_bytes`, on either stream, long before its deadline."""
    async with box_of(sandbox) as box:
        limits = Limits(wall_seconds=60, output_bytes=4 * MIB, keep_bytes=10_000)
        for script in ("yes", "yes >&2", "yes & yes >&2 & wait"):
            result = await shell(box, script, limits)
            expect(result.ended is Ended.OUTPUT and result.truncated and not result.ok, result.ended)
            expect(result.wall_seconds < 30, result.wall_seconds)
            expect(len(result.stdout) <= 10_000 and len(result.stderr) <= 10_000, "kept too much")
        await expect_usable(box)


async def check_closed_output(sandbox: Sandbox) -> None:
    """A command may close its outputs early; its exit code still counts."""
    async with box_of(sandbox) as box:
        result = await shell(box, "echo before; exec >&- 2>&-; sleep 0.1; exit 7")
        expect(result.exit_code == 7 and result.stdout == b"before\n", result)


async def check_lingering_without_files(sandbox: Sandbox) -> None:
    """A command that closes all its files and lingers is ended at its deadline."""
    async with box_of(sandbox) as box:
        result = await python(box, "import os, time; os.closerange(0, 1000); time.sleep(60)", Limits(wall_seconds=0.5))
        expect(result.ended is Ended.WALL_TIME and result.wall_seconds < 10, result)


async def check_output_held_open(sandbox: Sandbox) -> None:
    """A command is over when its first process ends, even if a background process holds its outputs open."""
    async with box_of(sandbox) as box:
        result = await shell(box, "sleep 60 & echo done", Limits(wall_seconds=30))
        expect(result.ok and result.stdout == b"done\n" and result.wall_seconds < 10, result)


async def check_last_words(sandbox: Sandbox) -> None:
    """What was printed before a command was killed is kept."""
    async with box_of(sandbox) as box:
        result = await shell(box, "echo words; echo more >&2; sleep 60", Limits(wall_seconds=0.5))
        expect(result.ended is Ended.WALL_TIME, result)
        expect_equal((result.stdout, result.stderr), (b"words\n", b"more\n"))

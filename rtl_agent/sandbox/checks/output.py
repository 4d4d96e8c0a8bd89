"""What becomes of a command's output."""

from rtl_agent.sandbox.checks.common import box_of, expect, expect_equal, expect_usable, python, shell
from rtl_agent.sandbox.protocol import MIB, Ended, Limits, Sandbox


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

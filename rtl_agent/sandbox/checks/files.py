"""How files go in, persist and come out."""

from collections.abc import Awaitable

from rtl_agent.sandbox.checks.common import box_of, expect, expect_equal, expect_usable, python, shell
from rtl_agent.sandbox.protocol import MIB, Limits, Sandbox


async def expect_raises(kind: type[Exception] | tuple[type[Exception], ...], call: Awaitable[object]) -> None:
    try:
        value = await call
    except kind:
        return
    except Exception as error:
        expect(False, f"{error!r} instead of {kind}")
    else:
        expect(False, f"{str(value)[:80]!r} instead of {kind}")


async def check_files_persist(sandbox: Sandbox) -> None:
    """What one command writes the next one reads."""
    async with box_of(sandbox) as box:
        await shell(box, "mkdir -p /code/a; echo kept > /code/a/b; echo also > /tmp/c")
        expect_equal((await shell(box, "cat /code/a/b /tmp/c")).stdout, b"kept\nalso\n")
        expect_equal(await box.read("/code/a/b"), b"kept\n")


async def check_write_read(sandbox: Sandbox) -> None:
    """Files go in and out byte for byte, empty ones too."""
    async with box_of(sandbox) as box:
        for data in (b"", b"text\r\n", bytes(range(256)) * 300):
            await box.write("/code/file", data)
            expect_equal(await box.read("/code/file"), data)
            expect_equal((await box.run(["cat", "/code/file"])).stdout, data)


async def check_big_file(sandbox: Sandbox) -> None:
    """A file of 20 MiB goes in and out."""
    async with box_of(sandbox) as box:
        data = bytes(range(251)) * (20 * MIB // 251)
        await box.write("/code/big", data)
        expect(await box.read("/code/big", max_bytes=20 * MIB) == data, "bytes differ")


async def check_nested_directories(sandbox: Sandbox) -> None:
    """Writing makes the directories that are missing, deep ones too."""
    async with box_of(sandbox) as box:
        for path in ("/code/a/b/c/d.txt", "/code" + "/deep" * 300 + "/file"):
            await box.write(path, b"x")
            expect_equal(await box.read(path), b"x")


async def check_weird_names(sandbox: Sandbox) -> None:
    """Spaces, quotes, newlines, dashes and any script are fine in file names."""
    async with box_of(sandbox) as box:
        names = ["a b", "-rf", "q'\"$(id)`", "new\nline", "grün☃漢字", "\\x", "x" * 255]
        for name in names:
            await box.write(f"/code/{name}", name.encode())
            expect_equal(await box.read(f"/code/{name}"), name.encode())
        expect_equal((await box.run(["sh", "-c", "ls -A /code | wc -l"])).stdout.strip(), b"8")


async def check_mode(sandbox: Sandbox) -> None:
    """A file has the mode it was written with, and the command may run it."""
    async with box_of(sandbox) as box:
        await box.write("/code/script", b"#!/bin/sh\necho ran\n", mode=0o755)
        expect_equal((await box.run(["/code/script"])).stdout, b"ran\n")
        await box.write("/code/data", b"")
        expect_equal((await box.run(["stat", "-c", "%a", "/code/script", "/code/data"])).stdout, b"755\n644\n")


async def check_overwrite(sandbox: Sandbox) -> None:
    """Writing replaces a file, shorter or read-only, and the new content is all there is."""
    async with box_of(sandbox) as box:
        await box.write("/code/file", b"long content", mode=0o444)
        await box.write("/code/file", b"short")
        expect_equal(await box.read("/code/file"), b"short")


async def check_write_replaces_traps(sandbox: Sandbox) -> None:
    """Writing replaces a link or a fifo that a command left under this name; it neither follows nor blocks."""
    async with box_of(sandbox) as box:
        await shell(box, "echo precious > /code/target; ln -s target /code/link; mkfifo /code/fifo")
        for name in ("link", "fifo"):
            await box.write(f"/code/{name}", b"new")
            expect_equal(await box.read(f"/code/{name}"), b"new")
        expect_equal(await box.read("/code/target"), b"precious\n")


async def check_write_fails(sandbox: Sandbox) -> None:
    """A file that cannot be written is an OSError, and the box goes on working."""
    async with box_of(sandbox) as box:
        await expect_raises(OSError, box.write("/usr/file", b"x"))
        await expect_raises(OSError, box.write("/file", b"x"))
        await shell(box, "mkdir -p /code/directory/inner")
        await expect_raises(OSError, box.write("/code/directory", b"x"))
        await expect_raises(OSError, box.write("/code/too-big", bytes(40 * MIB)))
        await box.write("/code/fits", bytes(20 * MIB))


async def check_read_missing(sandbox: Sandbox) -> None:
    """Reading what is not there is FileNotFoundError."""
    async with box_of(sandbox) as box:
        await box.write("/code/file", b"")
        for path in ("/code/none", "/none/at/all", "/code/file/below", "/code/" + "x" * 300):
            await expect_raises(FileNotFoundError, box.read(path))


async def check_read_irregular(sandbox: Sandbox) -> None:
    """Reading a link, a fifo, a directory, a socket or a device is refused at once."""
    async with box_of(sandbox) as box:
        await shell(box, "cd /code; echo x > file; ln -s file link; ln -s /usr outside; mkfifo fifo; mkdir directory")
        await python(box, "import socket; socket.socket(socket.AF_UNIX).bind('/code/socket')")
        for path in ("/code/link", "/code/fifo", "/code/directory", "/dev/zero", "/dev/null"):
            await expect_raises(ValueError, box.read(path))
        expect((await box.run(["test", "-e", "/code/outside/bin/env"])).ok, "the link leads nowhere")
        await expect_raises((ValueError, FileNotFoundError), box.read("/code/outside/bin/env"))
        await expect_usable(box)


async def check_read_unreadable(sandbox: Sandbox) -> None:
    """A file whose mode forbids reading is a ValueError."""
    async with box_of(sandbox) as box:
        await shell(box, "echo x > /code/file; chmod 000 /code/file")
        await expect_raises(ValueError, box.read("/code/file"))


async def check_read_max_bytes(sandbox: Sandbox) -> None:
    """A file larger than `max_bytes` is a ValueError, one of just that size is not; a huge hole is not read."""
    async with box_of(sandbox) as box:
        await box.write("/code/file", b"x" * 1000)
        expect_equal(len(await box.read("/code/file", max_bytes=1000)), 1000)
        await expect_raises(ValueError, box.read("/code/file", max_bytes=999))
        await shell(box, "truncate -s 60M /code/hole")
        await expect_raises(ValueError, box.read("/code/hole"))
        await expect_usable(box)


async def check_disk_quota(sandbox: Sandbox) -> None:
    """Each writable directory and /tmp hold `disk_bytes` and no more; what is freed can be used again."""
    async with box_of(sandbox, writable=("/code", "/work"), disk_bytes=8 * MIB) as box:
        for place in ("/code", "/work", "/tmp"):
            full = await shell(box, f"head -c 20000000 /dev/zero > {place}/a; stat -c %s {place}/a; rm {place}/a")
            expect(b"space" in full.stderr and int(full.stdout) <= 8 * MIB, full)
            expect((await shell(box, f"head -c 7000000 /dev/zero > {place}/b")).ok, place)


async def check_shared_memory_quota(sandbox: Sandbox) -> None:
    """/dev cannot be filled, /dev/shm included."""
    async with box_of(sandbox, ipc=True) as box:
        for path in ("/dev/file", "/dev/shm/file", "/dev/pts/file"):
            await shell(box, f"head -c 300000000 /dev/zero > {path}")
            used = await shell(box, f"stat -c %s {path} || echo 0")
            expect(int(used.stdout) < 70 * MIB, f"{path}: {used.stdout!r}")


async def check_many_files(sandbox: Sandbox) -> None:
    """A command that makes files as fast as it can is ended, and the box still answers."""
    async with box_of(sandbox, memory_bytes=96 * MIB) as box:
        code = "import os\nfor n in range(10**9):\n    os.close(os.open(f'/code/{n}', os.O_CREAT))"
        expect(not (await python(box, code, Limits(wall_seconds=1))).ok, "a thousand million files were made")
        await box.write("/tmp/file", b"x")
        expect_equal(await box.read("/tmp/file"), b"x")

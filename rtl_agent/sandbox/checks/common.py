"""What the checks share: a box with Python in it, and a way to fail that `python -O` does not strip."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from rtl_agent.sandbox._process import find_python
from rtl_agent.sandbox.protocol import MIB, Box, BoxSpec, CommandResult, Limits, Mount, Sandbox

PYTHON, PYTHON_MOUNTS = find_python(None)
QUICK = Limits(wall_seconds=20)


class CheckFailed(Exception):
    """The sandbox does not behave as it must."""


def expect(true: bool, otherwise: object) -> None:
    if not true:
        raise CheckFailed(str(otherwise))


def expect_equal(found: object, wanted: object) -> None:
    expect(found == wanted, f"{found!r} instead of {wanted!r}")


def box_of(
    sandbox: Sandbox,
    *,
    mounts: Sequence[Mount] = (),
    writable: Sequence[str] = ("/code",),
    links: Mapping[str, str] | None = None,
    proc: bool = False,
    ipc: bool = False,
    disk_bytes: int = 32 * MIB,
    memory_bytes: int = 512 * MIB,
    processes: int = 64,
    pass_fds: Sequence[int] = (),
) -> AbstractAsyncContextManager[Box]:
    spec = BoxSpec(
        mounts=(*PYTHON_MOUNTS, *mounts),
        writable=tuple(writable),
        links=links or {},
        proc=proc,
        ipc=ipc,
        disk_bytes=disk_bytes,
        memory_bytes=memory_bytes,
        processes=processes,
    )
    return sandbox.open(spec, pass_fds=pass_fds)


async def shell(box: Box, script: str, limits: Limits = QUICK) -> CommandResult:
    return await box.run(["sh", "-c", script], limits=limits)


async def python(box: Box, code: str, limits: Limits = QUICK, pass_fds: Sequence[int] = ()) -> CommandResult:
    return await box.run([str(PYTHON), "-I", "-S", "-c", code], limits=limits, pass_fds=pass_fds)


async def expect_output(box: Box, code: str, wanted: str) -> None:
    """Python code in the box prints exactly this."""
    result = await python(box, code)
    expect(result.ok, result)
    expect_equal(result.stdout.decode(errors="replace").strip(), wanted)


async def expect_error(box: Box, code: str, error: str = "") -> None:
    """Python code in the box ends with an OSError (of this name, such as EPERM), and the box goes on working."""
    guarded = (
        f"import errno\ntry:\n    exec({code!r}, {{}})\nexcept OSError as e:\n    print(errno.errorcode.get(e.errno))\n"
    )
    result = await python(box, guarded)
    expect(result.ok and result.stdout.strip() != b"", f"no error: {result}")
    if error:
        expect(result.stdout.decode().strip() in error.split(), f"{result.stdout!r} instead of {error}")
    await expect_usable(box)


async def expect_usable(box: Box) -> None:
    result = await box.run(["echo", "usable"], limits=QUICK)
    expect(result.ok and result.stdout == b"usable\n", f"the box cannot be used any more: {result}")

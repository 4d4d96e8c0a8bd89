"""A box laid out as CVDP does it: /code with docs, rtl, verif and rundir, the harness at /src."""

import os
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from rtl_agent.grading.channel import Channel
from rtl_agent.grading.dump import Dump
from rtl_agent.grading.seal import harness_files, kept_while_simulated, names_a_design_may_read, own_files_beside
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import MIB, Box, BoxSpec, Mount, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain

PROBE = Path(__file__).parent / "probe"
PROBE_INSIDE = "/opt/rtl-agent/probe"
RUNDIR = "/code/rundir"

SEED_VARIABLES = ("COCOTB_RANDOM_SEED", "RANDOM_SEED")  # cocotb 2.x reads either, 1.9 the second
READ_ONLY = ("/code/docs", "/code/rtl", "/code/verif")
LAST_MADE = "/rundir/harness"
_DIRECTORIES = ("/code/docs", "/code/rtl", "/code/verif", RUNDIR, LAST_MADE)


def _probe_files() -> frozenset[tuple[str, int, int]]:
    """Asked for every grade: 0.08 ms of CPU, with `Path.glob` 0.15."""
    with os.scandir(PROBE) as entries:
        files = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    return frozenset((name, stat.st_mtime_ns, stat.st_size) for name, stat in files)


_AT_START = _probe_files()


def ensure_probe_unchanged() -> None:
    """SandboxError if the package was changed since this process started.

    New boxes would have another probe than this process speaks with: right designs failed for want of a verdict.
    """
    if _probe_files() != _AT_START:
        raise SandboxError(
            "rtl-agent's own files were changed while it was running, by an update or a checkout; start it again, so "
            "that all of its parts are of one version"
        )


@asynccontextmanager
async def open_workspace(
    sandbox: Sandbox,
    toolchain: Toolchain,
    problem: Problem,
    service: Service,
    channel: Channel,
    dump: Dump | None = None,
) -> AsyncIterator[Box]:
    """A fresh box with everything but the targets: context first, harness over it."""
    cocotb_version = problem.harness.cocotb_version
    spec = BoxSpec(
        mounts=(*toolchain.mounts(cocotb_version), Mount(PROBE, PROBE_INSIDE), *(dump.mounts if dump else ())),
        writable=("/code", "/src", "/rundir", *((dump.place,) if dump else ())),
        links=toolchain.links(),
        disk_bytes=256 * MIB,
        image=toolchain.image,
    )
    async with sandbox.open(spec, pass_fds=(channel.far_fd,)) as box:
        for path, text in files_around(problem).items():
            if path.startswith("src/"):
                # Not writable: RTL can open a file but cannot change its mode, and pytest reads these again.
                await box.write(f"/{path}", text.encode(), mode=0o444)
            else:
                await box.write(f"/code/{path}", text.encode())
        await box.run(["mkdir", "-p", *_DIRECTORIES])
        if not service.src_writable:
            await box.run(["chmod", "-R", "a-w", "/src"])
        yield box


def files_around(problem: Problem) -> dict[str, str]:
    """What a box has before the design: the context, and the harness over it."""
    context = {path: text for path, text in problem.context.items() if path not in problem.targets}
    return context | harness_files(problem)


async def write_targets(box: Box, files: Mapping[str, str]) -> None:
    """The design; then nothing but the run directory can be written: a harness may read expectations from the rest."""
    for path, text in files.items():
        await box.write(f"/code/{path}", text.encode(errors="replace"))
    # What was left when the tests were collected, a cache of pytest's for one, would not be there in a warm box.
    collected = ["find", RUNDIR, "/tmp", "-mindepth", "1", "-depth", "-newer", LAST_MADE, "-delete"]
    await box.run(["sh", "-c", 'chmod -R a-w "$@"; exec ' + shlex.join(collected), "sh", *READ_ONLY])


def service_env(
    toolchain: Toolchain,
    problem: Problem,
    service: Service,
    channel: Channel | None,
    seed: int,
    *,
    checks: bool = False,
) -> dict[str, str]:
    """The environment of a service: its env file, then what the tools, the probe and repeatability need.

    A warm box brings the channel itself.
    """
    own = [name for name in SEED_VARIABLES if name in service.env]  # one that a harness has fixed is not overruled
    return {
        **({} if own else dict.fromkeys(SEED_VARIABLES, str(seed))),
        "LANG": "C.UTF-8",
        # cocotb's default, said aloud: without it every message of its C part is formatted in Python and then dropped,
        # a tenth of a simulation's CPU.
        "GPI_LOG_LEVEL": "INFO",
        **service.env,
        **toolchain.env(problem.harness.cocotb_version),
        "HOME": RUNDIR,
        "PWD": RUNDIR,  # a shell sets it, and a warm process has none
        "PYTEST_PLUGINS": "rtl_agent_probe_pytest",
        "PYTHONHASHSEED": "0",  # a warm process has chosen its own long before it knows the job's seed
        # A design can write .pyc files as well as any other, but cannot make the directory they would be read from.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",  # nor is the working directory, which it can write to, a place to import from
        **({"RTL_AGENT_CHANNEL": str(channel.far_fd)} if channel else {}),
        "RTL_AGENT_SEED": str(seed),
        **({"RTL_AGENT_CHECKS": "1"} if checks else {}),
        **({"RTL_AGENT_KEPT": ":".join(kept)} if (kept := kept_while_simulated(problem)) else {}),
        **({"RTL_AGENT_OWN": ":".join(own_beside)} if (own_beside := own_files_beside(problem)) else {}),
        **({"RTL_AGENT_NAMED": "/".join(names)} if (names := names_a_design_may_read(problem)) else {}),
    }

"""Installs the pinned Icarus: the ways to get it, tried in order, and the proof that what came works in a box."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from rtl_agent.sandbox import BoxSpec, Limits, Mount, SandboxError, make_sandbox
from rtl_agent.toolchain.building import InstallError, Say, complete
from rtl_agent.toolchain.icarus import INSIDE, IcarusTree, icarus_home, read_icarus, write_stamp
from rtl_agent.toolchain.icarus_package import Pip, from_package
from rtl_agent.toolchain.icarus_source import TARBALL, from_archive, from_named_tarball, from_upstream
from rtl_agent.toolchain.pins import CVDP_PINS
from rtl_agent.toolchain.versions import parse_version

VERSION = CVDP_PINS["iverilog"]
# Loads system.vpi, which is linked with more libraries than the rest, and the modules that come with -g2012.
_PROOF = b"""\
module proof;
  initial $display("%0d %0d", $clog2(4), int'($sqrt(9.0)));
endmodule
"""


def install_icarus(say: Say, pip: Pip) -> IcarusTree:
    """The pinned Icarus, installed if it is absent or outdated; InstallError tells how every way ended."""
    if found := read_icarus():
        return found
    ways: dict[str, Callable[[Path], str]] = {
        "the distribution's package": lambda tree: from_package(tree, pip),
        "the source in the distribution's archive (minutes)": from_archive,
        "upstream's source (minutes)": from_upstream,
    }
    if os.environ.get(TARBALL):
        ways = {f"the tarball that {TARBALL} names (minutes)": from_named_tarball, **ways}
    endings = []
    for name, way in ways.items():
        try:
            return _install(name, way, say)
        except InstallError as error:
            endings.append(f"* {name}: {error}")
    raise InstallError(f"Icarus {VERSION} could not be installed.\n" + "\n".join(endings))


def _install(name: str, way: Callable[[Path], str], say: Say) -> IcarusTree:
    target = icarus_home()
    say(f"Installing Icarus {VERSION} from {name} in {target} ...")
    with complete(target) as tree:
        description = way(tree)
        prove(tree, VERSION)
        write_stamp(tree, VERSION, description)
    installed = read_icarus()
    if installed is None:
        raise InstallError(f"{target} was installed but is not complete")
    return installed


def prove(tree: Path, version: str) -> None:
    """Compile and simulate in a box with the tree at its place; InstallError when that does not work."""
    try:
        asyncio.run(_prove(tree, version))
    except SandboxError:
        return  # no box on this machine, which `rtl-agent doctor` explains; nothing can be graded either


async def _prove(tree: Path, version: str) -> None:
    spec = BoxSpec(mounts=(Mount(tree, INSIDE),))
    env = {"PATH": "/usr/bin:/bin"}
    async with make_sandbox(slots=1).open(spec) as box:
        await box.write("/code/proof.sv", _PROOF)
        for argv, wanted in (
            (("vvp", "-V"), ""),
            (("iverilog", "-g2012", "-o", "/code/proof.vvp", "/code/proof.sv"), ""),
            (("vvp", "-n", "/code/proof.vvp"), "2 3\n"),
        ):
            done = await box.run((f"{INSIDE}/bin/{argv[0]}", *argv[1:]), env=env, cwd="/code", limits=Limits(60, 60))
            said = (done.stdout + done.stderr).decode(errors="replace")
            if not done.ok or (wanted and done.stdout.decode() != wanted):
                raise InstallError(f"{argv[0]} does not work in a box: {said[-400:] or f'exit code {done.exit_code}'}")
            if argv[1] == "-V" and parse_version("vvp", said) != version:
                raise InstallError(f"this is Icarus {parse_version('vvp', said)}, not {version}")

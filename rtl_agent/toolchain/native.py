"""The VPI module of the fast path: compiled once for this machine's Icarus, kept beside the harness environments."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from rtl_agent.toolchain.home import home
from rtl_agent.toolchain.missing import ToolMissing

SOURCE = Path(__file__).parent / "vpi" / "warm_start.c"
MODULE = "warm_start"


@cache  # asked for each grade, and reading the files took 0.3 ms
def warm_start_directory(iverilog: Path, version: str) -> Path:
    """The directory that holds warm_start.vpi, built if it is not there. ToolMissing where it cannot be built."""
    headers = iverilog.parent.parent / "include" / "iverilog"
    try:
        interface = (headers / "vpi_user.h").read_bytes()
    except OSError as error:
        what = f"{headers}/vpi_user.h is not there: it is needed to build the module that keeps simulators warm"
        raise ToolMissing("iverilog", what) from error
    key = hashlib.sha256(SOURCE.read_bytes() + interface + version.encode()).hexdigest()[:16]
    target = home() / f"vpi-{key}"
    if not (target / f"{MODULE}.vpi").exists():
        _build(headers, target)
    return target


def _build(headers: Path, target: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        raise ToolMissing("cc")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        place = Path(scratch) / "done"
        place.mkdir()
        built = place / f"{MODULE}.vpi"
        # As Icarus' own iverilog-vpi does it, which has the paths of its installation written in.
        argv = [compiler, "-O2", "-fPIC", "-shared", f"-I{headers}", "-o", str(built), str(SOURCE)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not built.exists():
            raise ToolMissing("cc", f"{compiler} could not build {SOURCE.name}: {(done.stdout + done.stderr)[-400:]}")
        for path in (place, built):
            path.chmod(0o755)
        try:
            place.rename(target)
        except OSError:  # another process was faster
            if not os.path.exists(target / built.name):  # noqa: PTH110
                raise

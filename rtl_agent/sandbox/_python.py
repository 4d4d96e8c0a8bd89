"""Which Python runs the init of a box, and what has to be mounted for it."""

import sys
from pathlib import Path

from rtl_agent.sandbox.protocol import Mount

USUAL = Path("/usr/bin/python3")


def find_python(wanted: Path | None) -> tuple[Path, tuple[Mount, ...]]:
    """`wanted`, else the system's, else the one this process runs on. /usr is in every box, other prefixes are not."""
    base = Path(getattr(sys, "_base_executable", None) or sys.executable)
    python = wanted or (USUAL if USUAL.exists() else base)
    if python.is_relative_to("/usr"):
        return python, ()
    real = python.resolve()
    prefix = real.parent.parent
    return real, (Mount(prefix, str(prefix)),)

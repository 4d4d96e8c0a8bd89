"""Chooses the Python that the harness environments are built on: 3.11 to 3.13 with a shared libpython.

`python -m rtl_agent.toolchain.interpreter` prints its path, or exits with 1 and says why no Python will do.
The set-up script runs it before anything is installed: nothing here may need more than the standard library.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.missing import PYTHON_RANGE, ToolMissing
from rtl_agent.toolchain.pins import NEWEST_PYTHON, OLDEST_PYTHON

# vvp loads libpython, so it must really be there: Debian's python3 package alone is linked statically and has none.
_PROBE = """
import json, os, sys, sysconfig
get = sysconfig.get_config_var
places = [os.path.join(d, n)
          for d in (get("LIBDIR"), os.path.join(get("LIBDIR") or "", get("MULTIARCH") or ""), sys.base_prefix + "/lib")
          for n in (get("INSTSONAME"), get("LDLIBRARY")) if d and n and ".so" in n]
try:
    import venv
except ImportError:
    venv = None
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "prefix": os.path.realpath(sys.base_prefix),
    "libpython": next((p for p in places if os.path.exists(p)), ""),
    "venv": venv is not None,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python on this machine that can carry a harness environment."""

    executable: Path
    prefix: Path
    version: tuple[int, int, int]
    libpython: Path


def choose_interpreter() -> Interpreter:
    """The first fit one. The system's own comes first: every user can read it, and the sandbox has /usr anyway."""
    refused: dict[str, None] = {}
    for candidate in _candidates():
        found = examine(candidate)
        if isinstance(found, Interpreter):
            return found
        refused[f"{candidate}: {found}"] = None
    raise ToolMissing("python", f"no Python {PYTHON_RANGE} fits the harness environments ({'; '.join(refused)})")


def _candidates() -> Iterator[str]:
    if Path("/usr/bin/python3").exists():
        yield "/usr/bin/python3"
    for minor in range(NEWEST_PYTHON[1], OLDEST_PYTHON[1] - 1, -1):
        if path := shutil.which(f"python3.{minor}"):
            yield path
    yield str(getattr(sys, "_base_executable", None) or sys.executable)


def examine(candidate: str) -> Interpreter | str:
    """The interpreter behind a command, or why it does not fit."""
    try:
        done = subprocess.run(
            [candidate, "-I", "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=30,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({error})"
    if done.returncode != 0:
        return "does not start"
    facts = json.loads(done.stdout)
    major, minor, micro = facts["version"]
    if not OLDEST_PYTHON <= (major, minor) <= NEWEST_PYTHON:
        return f"is Python {major}.{minor}"
    if not facts["venv"]:
        return "has no venv module"
    if not facts["libpython"]:
        return f"has no shared libpython (Debian, Ubuntu: apt-get install libpython{major}.{minor})"
    prefix = Path(facts["prefix"])
    if os.geteuid() == 0 and not prefix.stat().st_mode & stat.S_IXOTH:
        return f"is in {prefix}, which other users may not enter, and root's sandbox runs as another user"
    return Interpreter(Path(facts["executable"]), prefix, (major, minor, micro), Path(facts["libpython"]))


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{choose_interpreter().executable}\n")
    except ToolMissing as missing:
        sys.exit(str(missing))

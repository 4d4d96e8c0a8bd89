"""Where rtl-agent keeps what it installs for itself; the harness environments there, and whether they are current.

The scripts of an environment start the Python beside them, wherever it is. pip writes the place where an environment
was built into its scripts; it is renamed when it is complete, and a box has it at yet another place.
"""

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.pins import requirements


def home() -> Path:
    """$RTL_AGENT_HOME, else inside the virtual environment that runs us, else the user's data directory."""
    if named := os.environ.get("RTL_AGENT_HOME"):
        return Path(named).absolute()
    prefix = Path(sys.prefix)
    if sys.prefix != sys.base_prefix and os.access(prefix, os.W_OK):
        return prefix / "share" / "rtl-agent"
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data).absolute() / "rtl-agent"


def harness_home(cocotb: str) -> Path:
    """The harness environment for one cocotb version; it may not exist yet."""
    return home() / f"cocotb-{cocotb}"


STAMP = "rtl-agent.json"

# Inside the sandbox the grader mounts its probe here; elsewhere both lines do nothing.
PROBE_PTH_FILE = Path(__file__).parent / "rtl_agent_probe.pth"
PROBE_PTH = PROBE_PTH_FILE.read_text()


@dataclass(frozen=True)
class HarnessPython:
    """A virtual environment with one cocotb, and the interpreter that it stands on."""

    version: str  # of cocotb
    home: Path  # on this machine; the sandbox sees it elsewhere
    python: Path  # the base interpreter, links resolved
    prefix: Path  # the base interpreter's tree
    python_version: str
    libpython: Path

    @property
    def inside(self) -> str:
        """Where a box has it."""
        return f"/opt/rtl-agent/cocotb-{self.version}"

    @property
    def executable(self) -> str:
        """The Python to start inside a box; the shims find it in RTL_AGENT_PYTHON."""
        return f"{self.inside}/bin/python3"

    @property
    def site_packages(self) -> Path:
        """Its packages, on this machine."""
        return self.home / "lib" / f"python{self.python_version.rpartition('.')[0]}" / "site-packages"


def pins_digest(cocotb: str) -> str:
    """Changes when an environment that was built before is no longer the one wanted."""
    return hashlib.sha256("\n".join((*requirements(cocotb), PROBE_PTH)).encode()).hexdigest()[:16]


def write_stamp(where: Path, cocotb: str, facts: dict[str, str]) -> None:
    """Say that the environment is complete. Written last."""
    (where / STAMP).write_text(json.dumps({"pins": pins_digest(cocotb), **facts}, indent=1) + "\n")


def read_harness(cocotb: str) -> HarnessPython | None:
    """The installed environment, or None when it is absent, unfinished, of other pins or its Python is gone."""
    where = harness_home(cocotb)
    try:
        facts = json.loads((where / STAMP).read_text())
        found = HarnessPython(
            version=cocotb,
            home=where,
            python=Path(facts["python"]),
            prefix=Path(facts["prefix"]),
            python_version=str(facts["python_version"]),
            libpython=Path(facts["libpython"]),
        )
        current = facts["pins"] == pins_digest(cocotb)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = found.python.exists() and found.libpython.exists() and found.site_packages.is_dir()
    return found if current and whole else None


# pip's first line, or the three that it writes where the path is too long for one or has a space in it.
_PIPS_START = re.compile(rb"#!(?:/bin/sh\n'''exec' [^\n]*\n' '''|[^\n]*/python[\d.]*)\n")
_START = b"""\
#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")/python3" "$0" "$@"
' '''
"""


def relocate(environment: Path, home: Path) -> None:
    """Mend every file of `environment` that names another place; `home` is where it will be."""
    # With its path, or, as in the prompt of `activate`, without.
    elsewhere = re.compile(rb"(" + re.escape(bytes(home.parent)) + rb"/)?\.building-[\w.-]+")
    for file in (environment / "pyvenv.cfg", *sorted((environment / "bin").iterdir())):
        if file.is_symlink() or not file.is_file():
            continue
        old = file.read_bytes()
        start = _PIPS_START.match(old)
        new = _START + old[start.end() :] if start else old
        new = elsewhere.sub(lambda place: bytes(home) if place[1] else home.name.encode(), new)
        if new != old:
            _rewrite(file, new)


def _rewrite(file: Path, content: bytes) -> None:
    """At once: another process may be starting it."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_bytes(content)
    beside.chmod(file.stat().st_mode & 0o777)
    beside.replace(file)

"""The harness environments on disk: what each holds, and whether it is still the one that the pins ask for."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.home import harness_home
from rtl_agent.toolchain.pins import requirements

STAMP = "rtl-agent.json"

# Inside the sandbox the grader mounts its probe here; elsewhere both lines do nothing.
PROBE_PTH = """\
/opt/rtl-agent/probe
import importlib.util as u; u.find_spec("rtl_agent_probe") and __import__("rtl_agent_probe")
"""


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

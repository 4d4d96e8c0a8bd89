"""CVDP's Icarus in a tree of our own: what it is on disk, and whether it is still the one that the pins ask for.

A tree is made to lie at one place in every box, /opt/rtl-agent/icarus, wherever it is on this machine: Icarus has its
prefix compiled in, and a tool root may have a space in its path, or be in a private home.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.home import home
from rtl_agent.toolchain.pins import CVDP_PINS, ICARUS_PACKAGES, ICARUS_SOURCE_SHA256

INSIDE = "/opt/rtl-agent/icarus"
STAMP = "rtl-agent.json"
_LAYOUT = 1  # raise it when trees that were made before are no longer good


@dataclass(frozen=True)
class IcarusTree:
    """A complete tree: bin/, lib/ivl, include/."""

    home: Path
    version: str
    way: str  # how it came here


def icarus_home() -> Path:
    """Where the pinned Icarus belongs; it may not be there yet."""
    return home() / f"icarus-{CVDP_PINS['iverilog']}"


def host_libc() -> str:
    """The C library of this machine, "glibc 2.36"; a tree is made for one."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (ValueError, OSError):
        return "unknown"


def digest() -> str:
    """Changes when a tree that was made before is no longer the one wanted."""
    text = f"{_LAYOUT} {CVDP_PINS['iverilog']} {ICARUS_SOURCE_SHA256} {sorted(ICARUS_PACKAGES.items())}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_stamp(where: Path, version: str, way: str) -> None:
    """Say that the tree is complete. Written last."""
    facts = {"icarus": version, "pins": digest(), "way": way, "libc": host_libc()}
    (where / STAMP).write_text(json.dumps(facts, indent=1) + "\n")


def read_tree(where: Path) -> IcarusTree | None:
    """The tree at this place; None when there is none, it is unfinished, or it was made for another libc or layout."""
    try:
        facts = json.loads((where / STAMP).read_text())
        tree = IcarusTree(where, str(facts["icarus"]), str(facts["way"]))
        current = facts["pins"] == digest() and facts["libc"] == host_libc()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = all((where / "bin" / name).exists() for name in ("iverilog", "vvp"))
    return tree if current and whole else None


def read_icarus() -> IcarusTree | None:
    """The pinned Icarus, if it is installed."""
    return read_tree(icarus_home())

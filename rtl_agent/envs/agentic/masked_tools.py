"""What hides compilers, simulators and synthesisers of the system's /usr from a workspace that must not have them."""

from functools import cache
from pathlib import Path

from rtl_agent.sandbox import Mount

_HIDDEN = Path(__file__).parent / "hidden"
_NOTICE = _HIDDEN / "notice.sh"  # says why, and ends with 127
_EMPTY = _HIDDEN / "empty"
_PROGRAMS = ("iverilog*", "vvp*", "yosys*", "verilator*", "ghdl*", "nvc", "slang*", "surelog*", "cvc64", "sby")
_TREES = ("lib/ivl", "lib/*/ivl", "share/yosys", "share/verilator", "lib/ghdl")
_PREFIXES = (Path("/usr"), Path("/usr/local"))


@cache
def masks() -> tuple[Mount, ...]:
    """A mount over each. A PATH without them would not do: /usr is in every box, and an agent can name any file."""
    found: dict[str, Path] = {}
    for prefix in _PREFIXES:
        for pattern in _PROGRAMS:
            found |= {str(file.resolve()): _NOTICE for file in (prefix / "bin").glob(pattern) if file.is_file()}
        for pattern in _TREES:
            found |= {str(tree.resolve()): _EMPTY for tree in prefix.glob(pattern) if tree.is_dir()}
    return tuple(Mount(source, target) for target, source in sorted(found.items()) if target.startswith("/usr/"))

"""Where rtl-agent keeps what it installs for itself: the harness environments and the list of probed versions."""

import os
import sys
from pathlib import Path


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

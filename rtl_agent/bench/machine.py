"""Where numbers were measured: cores, load, versions."""

import os
import platform
from typing import Any

from rtl_agent.toolchain import Toolchain


def machine(toolchain: Toolchain) -> dict[str, Any]:
    """Taken before and after a run: the load is that of the last minute, this run's own included."""
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "host_python": platform.python_version(),
        "tools": dict(toolchain.versions()),
        "load": round(os.getloadavg()[0], 1),
    }


def in_a_sentence(before: dict[str, Any], after: dict[str, Any]) -> str:
    tools = before["tools"]
    names = ", ".join(f"{name} {tools[name]}" for name in ("iverilog", "cocotb", "pytest", "python") if name in tools)
    return f"{before['cores']} cores, load {before['load']} before and {after['load']} after; {names}."

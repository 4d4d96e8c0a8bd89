"""Where untrusted commands run: one small protocol, bubblewrap behind it."""

from rtl_agent.sandbox.bubblewrap import BubblewrapSandbox
from rtl_agent.sandbox.cgroup import describe as describe_cgroups
from rtl_agent.sandbox.protocol import (
    MIB,
    Box,
    BoxSpec,
    CommandResult,
    Ended,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
)

__all__ = [
    "MIB",
    "Box",
    "BoxSpec",
    "BubblewrapSandbox",
    "CommandResult",
    "Ended",
    "Limits",
    "Mount",
    "Sandbox",
    "SandboxError",
    "describe_cgroups",
]

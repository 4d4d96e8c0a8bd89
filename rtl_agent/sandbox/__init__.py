"""Where untrusted commands run: one small protocol, bubblewrap behind it."""

from rtl_agent.sandbox.available import check_available
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
    WritablePlace,
)
from rtl_agent.sandbox.self_check import CheckResult, run_self_check

__all__ = [
    "MIB",
    "Box",
    "BoxSpec",
    "BubblewrapSandbox",
    "CheckResult",
    "CommandResult",
    "Ended",
    "Limits",
    "Mount",
    "Sandbox",
    "SandboxError",
    "WritablePlace",
    "check_available",
    "describe_cgroups",
    "run_self_check",
]

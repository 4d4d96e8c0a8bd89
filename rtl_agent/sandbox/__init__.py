"""Where untrusted commands run: one small protocol, a registry of sandboxes, a conformance suite for any of them."""

from rtl_agent.sandbox.available import check_available
from rtl_agent.sandbox.bubblewrap import BubblewrapSandbox
from rtl_agent.sandbox.cgroup import describe as describe_cgroups
from rtl_agent.sandbox.checks import CHECKS, CheckResult, run_check, run_self_check
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
from rtl_agent.sandbox.registry import SANDBOXES, SandboxKind, make_sandbox, sandbox_kind

__all__ = [
    "CHECKS",
    "MIB",
    "SANDBOXES",
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
    "SandboxKind",
    "WritablePlace",
    "check_available",
    "describe_cgroups",
    "make_sandbox",
    "run_check",
    "run_self_check",
    "sandbox_kind",
]

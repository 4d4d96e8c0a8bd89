"""Where untrusted commands run: one small protocol, a registry of sandboxes, a conformance suite for any of them."""

from rtl_agent.sandbox.available import check_available
from rtl_agent.sandbox.bubblewrap import BubblewrapSandbox
from rtl_agent.sandbox.cgroup import describe as describe_cgroups
from rtl_agent.sandbox.checks import CHECKS, CheckResult, run_check, run_self_check
from rtl_agent.sandbox.contained import ContainedSandbox, in_container
from rtl_agent.sandbox.container import ContainerSandbox, DockerSandbox, PodmanSandbox
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
from rtl_agent.sandbox.registry import (
    DEFAULT_SANDBOX,
    SANDBOXES,
    SandboxKind,
    choose_sandbox,
    chosen_image,
    make_sandbox,
    sandbox_kind,
    sandbox_name,
    sandbox_note,
    sandbox_warning,
    takes_images,
    weakness_warning,
    weaknesses,
)

__all__ = [
    "CHECKS",
    "DEFAULT_SANDBOX",
    "MIB",
    "SANDBOXES",
    "Box",
    "BoxSpec",
    "BubblewrapSandbox",
    "CheckResult",
    "CommandResult",
    "ContainedSandbox",
    "ContainerSandbox",
    "DockerSandbox",
    "Ended",
    "Limits",
    "Mount",
    "PodmanSandbox",
    "Sandbox",
    "SandboxError",
    "SandboxKind",
    "WritablePlace",
    "check_available",
    "choose_sandbox",
    "chosen_image",
    "describe_cgroups",
    "in_container",
    "make_sandbox",
    "run_check",
    "run_self_check",
    "sandbox_kind",
    "sandbox_name",
    "sandbox_note",
    "sandbox_warning",
    "takes_images",
    "weakness_warning",
    "weaknesses",
]

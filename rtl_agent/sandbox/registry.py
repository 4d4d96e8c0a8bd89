"""Sandboxes by name: ours, and those that installed packages bring with an entry point of `rtl_agent.sandboxes`."""

import os
from typing import Protocol

from rtl_agent.registry import Registry
from rtl_agent.sandbox.bubblewrap import BubblewrapSandbox
from rtl_agent.sandbox.protocol import Sandbox

DEFAULT_SANDBOX = BubblewrapSandbox.name
VARIABLE = "RTL_AGENT_SANDBOX"


class SandboxKind(Protocol):
    """What is registered: makes a sandbox, and says beforehand whether it can work on this machine."""

    def __call__(self, slots: int) -> Sandbox:
        """A sandbox in which at most `slots` boxes are open at once. SandboxError where it cannot work."""
        ...

    def obstacles(self) -> list[str]:
        """Why it cannot work here, a sentence each that says what to do; [] when it can."""
        ...


SANDBOXES: Registry[SandboxKind] = Registry("sandbox", "rtl_agent.sandboxes", {DEFAULT_SANDBOX: BubblewrapSandbox})


def sandbox_kind(name: str = "") -> SandboxKind:
    """The sandbox of this name; without one, that of $RTL_AGENT_SANDBOX, else bubblewrap."""
    return SANDBOXES[name or os.environ.get(VARIABLE) or DEFAULT_SANDBOX]


def make_sandbox(slots: int, name: str = "") -> Sandbox:
    """A sandbox with room for `slots` boxes; see `sandbox_kind` for the name.

    >>> make_sandbox(slots=1, name="bubblewrap").name
    'bubblewrap'
    """
    return sandbox_kind(name)(slots)

"""Sandboxes by name: ours, and those that installed packages bring with an entry point of `rtl_agent.sandboxes`."""

import os
from typing import Protocol

from rtl_agent.registry import Registry
from rtl_agent.sandbox.bubblewrap import BubblewrapSandbox
from rtl_agent.sandbox.container import DockerSandbox, PodmanSandbox
from rtl_agent.sandbox.protocol import Sandbox

DEFAULT_SANDBOX = BubblewrapSandbox.name
VARIABLE, IMAGE_VARIABLE = "RTL_AGENT_SANDBOX", "RTL_AGENT_OSS_SIM_IMAGE"


class SandboxKind(Protocol):
    """What is registered: makes a sandbox, and says beforehand whether it can work on this machine."""

    @property
    def name(self) -> str: ...

    def __call__(self, slots: int) -> Sandbox:
        """A sandbox in which at most `slots` boxes are open at once. SandboxError where it cannot work."""
        ...

    def obstacles(self) -> list[str]:
        """Why it cannot work here, a sentence each that says what to do; [] when it can."""
        ...


SANDBOXES: Registry[SandboxKind] = Registry(
    "sandbox",
    "rtl_agent.sandboxes",
    {kind.name: kind for kind in (BubblewrapSandbox, DockerSandbox, PodmanSandbox)},
)


def sandbox_name(name: str = "") -> str:
    """This name; without one, that of $RTL_AGENT_SANDBOX, else bubblewrap."""
    return name or os.environ.get(VARIABLE) or DEFAULT_SANDBOX


def sandbox_kind(name: str = "") -> SandboxKind:
    """The sandbox of this name, or of the one that is chosen; see `sandbox_name`."""
    return SANDBOXES[sandbox_name(name)]


def choose_sandbox(name: str = "", image: str = "") -> None:
    """For this process, and those that it starts: the sandbox, and the container image that has the simulators."""
    if name:
        _ = SANDBOXES[name]
        os.environ[VARIABLE] = name
    if image:
        os.environ[IMAGE_VARIABLE] = image


def chosen_image() -> str:
    """The container image that has the simulators; "" for this machine's own."""
    return os.environ.get(IMAGE_VARIABLE, "")


def make_sandbox(slots: int, name: str = "") -> Sandbox:
    """A sandbox with room for `slots` boxes; see `sandbox_name` for the name.

    >>> make_sandbox(slots=1, name="bubblewrap").name
    'bubblewrap'
    """
    return sandbox_kind(name)(slots)

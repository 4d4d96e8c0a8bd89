"""Sandboxes by name: ours, and those that installed packages bring with an entry point of `rtl_agent.sandboxes`."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Protocol

from rtl_agent.registry import Registry
from rtl_agent.sandbox.available import check_available
from rtl_agent.sandbox.bubblewrap import BubblewrapSandbox
from rtl_agent.sandbox.contained import ContainedSandbox, in_container
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
    {kind.name: kind for kind in (BubblewrapSandbox, DockerSandbox, PodmanSandbox, ContainedSandbox)},
)


def sandbox_name(name: str = "") -> str:
    """This name; without one, that of $RTL_AGENT_SANDBOX, else bubblewrap or what stands in for it here."""
    return name or os.environ.get(VARIABLE) or _default()


@cache
def _default() -> str:
    """Bubblewrap, but in a container that lets it make no namespaces and in which `container` works."""
    if in_container() and check_available() and not ContainedSandbox.obstacles():
        return ContainedSandbox.name
    return DEFAULT_SANDBOX


def weaknesses(sandbox: object) -> tuple[str, ...]:
    """What a sandbox, or a kind of one, says it gives less than bubblewrap does: sentences, none for most."""
    return tuple(getattr(sandbox, "weaker", ()))


def sandbox_note(sandbox: object) -> dict[str, str]:
    """What a grade says of its sandbox beside the tools' versions: nothing, where it is as strong as bubblewrap."""
    found = weaknesses(sandbox)
    return {"sandbox": f"{getattr(sandbox, 'name', '?')}, weaker than bubblewrap ({'; '.join(found)})"} if found else {}


def weakness_warning(noted: Mapping[str, str]) -> str:
    """What to tell a reader of such a grade; "" where there is nothing to say."""
    return f"designs ran in the sandbox {noted['sandbox']}: see docs/sandbox.md" if "sandbox" in noted else ""


def sandbox_warning(name: str = "") -> str:
    """The same at the start, of the sandbox of this name or the chosen one."""
    return weakness_warning(sandbox_note(sandbox_kind(name))).replace("designs ran", "designs run")


def sandbox_kind(name: str = "") -> SandboxKind:
    """The sandbox of this name, or of the one that is chosen; see `sandbox_name`."""
    return SANDBOXES[sandbox_name(name)]


def takes_images(name: str = "") -> bool:
    """Whether its boxes can be made of a container image."""
    return sandbox_name(name) not in (BubblewrapSandbox.name, ContainedSandbox.name)


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

"""What a sandbox is to the rest of rtl-agent: open a box, put files in, run commands, take files out."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

MIB = 1024 * 1024
SHM_BYTES = 64 * MIB


class SandboxError(Exception):
    """The sandbox itself failed. Never the fault of what ran inside: a grade becomes `error`, not 0."""


@dataclass(frozen=True)
class Mount:
    """A read-only view of a host directory or file inside the box."""

    source: Path
    target: str


@dataclass(frozen=True)
class WritablePlace:
    """A directory of a box that its commands can write to: a tmpfs of its own."""

    path: str
    size_bytes: int
    mode: int


@dataclass(frozen=True)
class BoxSpec:
    """What a box has inside, fixed for its life."""

    mounts: tuple[Mount, ...] = ()
    writable: tuple[str, ...] = ("/code",)  # directories of its own; each a tmpfs with `disk_bytes`
    links: Mapping[str, str] = field(default_factory=dict)  # link path inside -> what it points to
    proc: bool = False  # mount /proc; RTL that can open /proc/self/mem can rewrite its simulator
    # /dev/shm, terminals, System V IPC, message queues, network sockets, extended attributes: an agent's shell may want
    # them, and its box is its own. What grades does without: they outlive the command that made them.
    ipc: bool = False
    disk_bytes: int = 256 * MIB
    memory_bytes: int = 2048 * MIB  # the whole box where cgroups can be written, else each process
    processes: int = 256
    image: str = ""  # of a container, in place of this machine's /usr; only sandboxes of containers can

    @property
    def places(self) -> tuple[WritablePlace, ...]:
        """Everything that a command can write to; whoever uses a box twice clears just these."""
        own = [WritablePlace("/tmp", self.disk_bytes, 0o1777)]
        if self.ipc:
            own.append(WritablePlace("/dev/shm", SHM_BYTES, 0o1777))
        return (*own, *(WritablePlace(path, self.disk_bytes, 0o755) for path in self.writable))


@dataclass(frozen=True)
class Limits:
    """What one command may use. The whole process tree is killed when `wall_seconds` are over."""

    wall_seconds: float = 60.0
    cpu_seconds: float = 60.0  # of each process
    all_cpu_seconds: float = math.inf  # of all of them together, where the box has a cgroup that counts
    file_bytes: int = 64 * MIB  # of each file
    output_bytes: int = 64 * MIB  # stdout + stderr; more ends the command
    keep_bytes: int = 1 * MIB  # of each stream: half from its head, half from its tail


class Ended(StrEnum):
    """Why a command is over."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    WALL_TIME = "wall-time"
    OUTPUT = "output"


@dataclass(frozen=True)
class CommandResult:
    """How a command ended and what it printed."""

    ended: Ended
    exit_code: int  # -N when ended by signal N
    stdout: bytes
    stderr: bytes
    truncated: bool  # stdout or stderr lost its middle
    wall_seconds: float
    cpu_seconds: float  # of every process: by the box's cgroup; without one, of those that somebody waited for
    max_rss_bytes: int

    @property
    def ok(self) -> bool:
        return self.ended is Ended.EXITED and self.exit_code == 0


class Box(Protocol):
    """A live box. Files persist between commands; processes do not: what a command left running is killed."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        limits: Limits | None = None,
        pass_fds: Sequence[int] = (),
    ) -> CommandResult:
        """Run one command with just this environment. `pass_fds` are fds handed over at `open` time.

        A command that cannot be started ends with exit code 127 (no such program) or 126 and says why on stderr.
        Cancelling the caller kills the command and ends the box.
        """
        ...

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file, making its directories. OSError when the box has no room or the place is not writable."""
        ...

    async def read(self, path: str, *, max_bytes: int = 16 * MIB) -> bytes:
        """Read a regular file, through no link.

        FileNotFoundError for what is not there; ValueError for what is no regular file, unreadable or too large.
        """
        ...


class Sandbox(Protocol):
    """Makes boxes. `open` waits while all slots are taken."""

    name: str

    def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AbstractAsyncContextManager[Box]:
        """A new box; leaving the context ends every process in it and frees everything."""
        ...

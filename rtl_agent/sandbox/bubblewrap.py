"""The sandbox on Linux namespaces: one bubblewrap process for each box, an unprivileged uid for each slot."""

import asyncio
import os
import platform
import re
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rtl_agent.sandbox import cgroup
from rtl_agent.sandbox._box import InitBox, to_the_end
from rtl_agent.sandbox._process import START, BoxProcess, ChannelClosed, compiled, find_python
from rtl_agent.sandbox._seccomp import program as seccomp
from rtl_agent.sandbox._slots import SLOTS, resolve, stage
from rtl_agent.sandbox._view import ETC_FILES, tmpfs_bytes, view
from rtl_agent.sandbox.available import check_available
from rtl_agent.sandbox.protocol import MIB, BoxSpec, SandboxError

START_SECONDS = 60.0  # 30 ms on an idle machine; a loaded one must not turn into errors
WAIT_FOR_UID_SECONDS = 0.05
REMOVE_TRIES = 100


@dataclass
class _Parts:
    """What an open box holds, to be given back in any case. `fds` are ours only until bubblewrap has them."""

    uid: int | None = None
    group: cgroup.BoxCgroup | None = None
    fds: list[int] = field(default_factory=list)

    def file(self, content: bytes) -> int:
        self.fds.append(os.memfd_create("box-file"))
        os.write(self.fds[-1], content)
        os.lseek(self.fds[-1], 0, os.SEEK_SET)
        return self.fds[-1]

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())
        if self.group:
            self.group.close()


class BubblewrapSandbox:
    """At most `slots` boxes at once. `python` runs the init of each box."""

    name = "bubblewrap"
    obstacles = staticmethod(check_available)

    def __init__(self, slots: int, python: Path | None = None) -> None:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise SandboxError("bwrap is not installed: run `apt-get install bubblewrap`")
        self.bwrap = bwrap
        self.python, self._python_mounts = find_python(python)
        self._count = slots
        self._slots = SLOTS if os.geteuid() == 0 else None
        # Before 5.14 the kernel counts all of a user's processes, not those of the box: an ordinary user has too many.
        self._limit_processes = self._slots is not None or _kernel() >= (5, 14)
        self._removing: list[cgroup.BoxCgroup] = []
        self._turn: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._place = cgroup.find_place()
        if self._place:
            cgroup.remove_stale(self._place)

    @asynccontextmanager
    async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[InitBox]:
        if spec.image:
            raise SandboxError(f"a box of the image {spec.image} needs a container: sandbox=docker or sandbox=podman")
        async with self._semaphore():
            parts = _Parts()
            try:
                process = await self._start(spec, pass_fds, parts)
                box = InitBox(process, spec, tuple(pass_fds), spec.processes + 1 if self._limit_processes else 0)
                try:
                    yield box
                finally:
                    await to_the_end(box.close())
            finally:
                await to_the_end(self._give_back(parts))

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._loop is not loop:
            self._turn, self._loop = asyncio.Semaphore(self._count), loop
        return self._turn

    async def _start(self, spec: BoxSpec, pass_fds: Sequence[int], parts: _Parts) -> BoxProcess:
        if self._slots:
            while (uid := self._slots.take()) is None:  # noqa: ASYNC110  (another process gives it back)
                await asyncio.sleep(WAIT_FOR_UID_SECONDS)
            parts.uid = uid
        process = self._launch(spec, pass_fds, parts)
        try:
            async with asyncio.timeout(START_SECONDS):
                if await process.channel.receive() != [b"ready"]:
                    raise ChannelClosed("the init said something else than ready")
            process.learn_init()
        except (TimeoutError, ChannelClosed) as error:
            said = await to_the_end(process.end())
            raise SandboxError(f"the box did not start: {said or error or 'no answer'}") from error
        except BaseException:
            await to_the_end(process.end())
            raise
        return process

    def _launch(self, spec: BoxSpec, pass_fds: Sequence[int], parts: _Parts) -> BoxProcess:
        sources = resolve([mount.source for mount in (*self._python_mounts, *spec.mounts)])
        prefix: list[str] = []
        if parts.uid is not None:
            sources, prefix = stage(sources, parts.uid)
        parts.group = self._cgroup(spec)
        groups, counters = (parts.group.fds, parts.group.cpu) if parts.group else ([], [])
        etc = {name: parts.file(content) for name, content in ETC_FILES.items()}
        argv = [*prefix, self.bwrap, *view(spec, self._python_mounts, etc, sources)]
        if rules := seccomp(ipc=spec.ipc):
            argv += ["--seccomp", str(parts.file(rules))]
        code = compiled(self.python)
        start = START.format(fd=parts.file(code), size=len(code))
        owner, proc = os.pidfd_open(os.getpid()), os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        info, info_end = os.pipe()
        host_end, box_end = socket.socketpair()
        parts.fds += [owner, proc, info_end, box := box_end.detach()]
        argv += ["--info-fd", str(info_end), "--", str(self.python), "-I", "-S", "-c", start]
        argv += [" ".join(map(str, fds)) for fds in ([box], [owner], [proc], groups, counters, pass_fds)]
        try:
            inherited = [*parts.fds, *groups, *counters, *pass_fds]
            process = BoxProcess(argv, fds=inherited, host_end=host_end, info=info)
        except (OSError, ValueError) as error:
            raise SandboxError(f"bubblewrap cannot be started: {error}") from error
        parts.close()
        return process

    def _cgroup(self, spec: BoxSpec) -> cgroup.BoxCgroup | None:
        if self._place is None:
            return None
        # Files alone must not fill the limit: then every later command would be killed at its start.
        memory = max(spec.memory_bytes, tmpfs_bytes(spec)) + 16 * MIB
        try:
            return cgroup.make(self._place, memory, spec.processes)
        except OSError as error:
            raise SandboxError(f"no cgroup for the box: {error}") from error

    async def _give_back(self, parts: _Parts) -> None:
        parts.close()
        if parts.group:
            self._removing.append(parts.group)
            for _ in range(REMOVE_TRIES):  # the kernel may need a moment to let go of the last process
                self._removing = [group for group in self._removing if not group.remove()]
                if parts.group not in self._removing:
                    break
                await asyncio.sleep(0.01)
        if parts.uid is not None and self._slots:
            self._slots.give_back(parts.uid)


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])

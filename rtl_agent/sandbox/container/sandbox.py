"""The sandboxes `docker` and `podman`: a container for each box, or one for each slot that is cleared in between."""

import asyncio
import itertools
import os
import secrets
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rtl_agent.sandbox._box import InitBox, to_the_end
from rtl_agent.sandbox._process import ChannelClosed, find_python
from rtl_agent.sandbox._seccomp import program as seccomp
from rtl_agent.sandbox._slots import FIRST_UID, SLOTS, UIDS, ensure_readable, resolve
from rtl_agent.sandbox._view import ETC_OF_HOST, USR_LINKS, in_order, tmpfs_bytes
from rtl_agent.sandbox.container.engine import DOCKER, PODMAN, Engine, EngineKind
from rtl_agent.sandbox.container.process import START_SECONDS, ContainerProcess, start
from rtl_agent.sandbox.protocol import MIB, SHM_BYTES, BoxSpec, Mount, SandboxError, WritablePlace

T = TypeVar("T")
REUSE = "RTL_AGENT_CONTAINERS"  # "slot": a container serves one box after another
# All that an init may do before it drops everything: unmount /proc, hand places to the box's user, become that user.
CAPABILITIES = ("SYS_ADMIN", "CHOWN", "SETUID", "SETGID", "SETPCAP")
ORDINARY_UID = FIRST_UID + UIDS + 1  # where this process may not lock uids; the cgroup counts processes then
INIT_BYTES = 64 * MIB
INIT_PROCESSES = 2
MOST_PROCESSES = 4096
BYTES_OF_A_FILE = 4096  # of a place for each file that may be in it: the kernel's memory for empty ones has an end, too
KERNEL_BYTES_OF_A_FILE = 1280
WAIT_FOR_UID_SECONDS = 0.05
_numbers = itertools.count()


@dataclass(frozen=True)
class _Idle:
    """A container between two boxes of the same kind."""

    spec: BoxSpec
    uid: int
    process: ContainerProcess


class ContainerSandbox:
    """At most `slots` boxes at once.

    Args:
        slots: how many.
        reuse: one long-lived container for each slot, cleared after each box; else a new one for each box.
        cpus: how many processors a box may keep busy.
    """

    name = ""
    kind: EngineKind

    def __init__(self, slots: int, *, reuse: bool | None = None, cpus: float = 2.0) -> None:
        self._count, self._cpus = slots, cpus
        self._reuse = os.environ.get(REUSE) == "slot" if reuse is None else reuse
        self.python, self._python_mounts = find_python(None)
        self._slots = SLOTS if os.geteuid() == 0 else None
        self._engine: Engine | None = None
        self._connecting = threading.Lock()
        self._turn: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open = 0
        self._idle: list[_Idle] = []

    @classmethod
    def obstacles(cls) -> list[str]:
        """Why it cannot work here; it is tried with a box."""
        try:
            sandbox = cls(slots=1)
            found = sandbox.engine().obstacles()
        except SandboxError as error:
            return [str(error)]
        return found or _in_own_loop(sandbox._trial())

    def engine(self) -> Engine:
        """The connection; what processes that are gone left behind is removed when it is made."""
        with self._connecting:
            if self._engine is None:
                engine = Engine(self.kind)
                engine.remove_leftovers()
                self._engine = engine
            return self._engine

    def image_facts(self, image: str) -> tuple[str, dict[str, str]]:
        """The digest of an image, and the environment that it gives to what runs in it."""
        found = self.engine().inspect_image(image)
        variables = dict(pair.split("=", 1) for pair in (found.get("Config") or {}).get("Env") or [] if "=" in pair)
        return str(found["Id"]), variables

    @asynccontextmanager
    async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[InitBox]:
        async with self._semaphore():
            self._open += 1
            try:
                uid, process = await self._take(spec)
                try:
                    await _in_time(process.adopt(pass_fds))
                    box = InitBox(process, spec, tuple(pass_fds), spec.processes + 1 if self._slots else 0)
                    try:
                        yield box
                    finally:
                        await to_the_end(self._keep(box, spec, uid, process))
                finally:
                    if all(idle.process is not process for idle in self._idle):
                        await to_the_end(self._end(uid, process))
            finally:
                self._open -= 1

    def close(self) -> None:
        """Let go of the containers that wait for their next box: they end, and the engine removes them."""
        while self._idle:
            idle = self._idle.pop()
            idle.process.release()
            self._give_back(idle.uid)

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._loop is not loop:
            self._turn, self._loop = asyncio.Semaphore(self._count), loop
        return self._turn

    async def _take(self, spec: BoxSpec) -> tuple[int, ContainerProcess]:
        """A container that is made for such boxes already, else a new one."""
        for idle in self._idle:
            if idle.spec == spec and idle.process.loop is asyncio.get_running_loop():
                self._idle.remove(idle)
                return idle.uid, idle.process
        while self._idle and len(self._idle) + self._open > self._count:
            oldest = self._idle.pop(0)
            await to_the_end(self._end(oldest.uid, oldest.process))
        uid = ORDINARY_UID
        while self._slots and (taken := self._slots.take()) is None:  # noqa: ASYNC110  (another process gives it back)
            await asyncio.sleep(WAIT_FOR_UID_SECONDS)
        if self._slots and taken is not None:
            uid = taken
        try:
            return uid, await self._start(spec, uid)
        except BaseException:
            self._give_back(uid)
            raise

    async def _start(self, spec: BoxSpec, uid: int) -> ContainerProcess:
        engine = await asyncio.to_thread(self.engine)
        links = {at: to for at, to in spec.links.items() if not (spec.proc and at.startswith("/proc/"))}
        image = await asyncio.to_thread(engine.image, spec.image, links)
        mounts = self._mounts(spec, uid)
        name = f"rtl-agent-{os.getpid()}-{next(_numbers)}-{secrets.token_hex(4)}"
        python = "python3" if spec.image else str(self.python)
        process = await start(engine, image, python, name, self._host_config(spec, engine), mounts)
        kept = [mount["Target"] for mount in mounts] + [place.path for place in spec.places]
        orders = [
            b"1" if spec.proc else b"0",
            b"1" if spec.ipc else b"0",
            seccomp(ipc=spec.ipc, contained=True) or b"",
            "\0".join(kept).encode(),
            "\0".join(f"{place.mode:o} {_files_in(place)} {place.path}" for place in spec.places).encode(),
        ]
        try:
            await _in_time(process.become(uid, orders))
        except BaseException:
            await to_the_end(process.end())
            raise
        return process

    def _mounts(self, spec: BoxSpec, uid: int) -> list[dict[str, Any]]:
        wanted = [*spec.mounts] if spec.image else [*_system(), *self._python_mounts, *spec.mounts]
        places = [place for place in in_order(wanted, spec) if isinstance(place, Mount)]
        sources = resolve([place.source for place in places])
        ensure_readable(sources, uid)
        return [
            {"Type": "bind", "Source": str(sources[place.source]), "Target": place.target, "ReadOnly": True}
            for place in places
        ]

    def _host_config(self, spec: BoxSpec, engine: Engine) -> dict[str, Any]:
        places = [place for place in spec.places if place.path != "/dev/shm"]  # that one is the engine's own
        files = sum(_files_in(place) for place in places)
        # Files alone must not fill the limit, or the init would be killed when it needs a page itself.
        memory = max(spec.memory_bytes, tmpfs_bytes(spec)) + files * KERNEL_BYTES_OF_A_FILE + INIT_BYTES
        config: dict[str, Any] = {
            "network_mode": "none",
            "ipc_mode": "private" if spec.ipc else "none",
            "read_only": True,
            "tmpfs": {place.path: _tmpfs(place, engine.kind) for place in places},
            "mem_limit": memory,
            "memswap_limit": memory,
            "pids_limit": spec.processes + INIT_PROCESSES,
            "cap_drop": ["ALL"],
            "cap_add": list(CAPABILITIES),
            "security_opt": ["no-new-privileges"],
            "auto_remove": True,
            "init": False,
            "oom_score_adj": 500,
            "ulimits": [{"Name": "nofile", "Soft": 4096, "Hard": 4096}, {"Name": "core", "Soft": 0, "Hard": 0}],
        }
        if spec.ipc:
            config["shm_size"] = SHM_BYTES
        if engine.kind is not DOCKER:  # Podman asks for more than a nested machine gives
            config["ulimits"].append({"Name": "nproc", "Soft": MOST_PROCESSES, "Hard": MOST_PROCESSES})
        if engine.info.get("CpuCfsQuota"):
            config["nano_cpus"] = int(min(self._cpus, os.cpu_count() or 1) * 1e9)
        return config

    async def _keep(self, box: InitBox, spec: BoxSpec, uid: int, process: ContainerProcess) -> None:
        """Keep a container that can be cleared for the next box. With `ipc` a command may leave more than files."""
        usable = box.leave()
        if self._reuse and usable and not spec.ipc:
            with suppress(SandboxError):
                if await _in_time(process.renew()):
                    self._idle.append(_Idle(spec, uid, process))

    async def _end(self, uid: int, process: ContainerProcess) -> None:
        try:
            await process.end()
        finally:
            self._give_back(uid)

    def _give_back(self, uid: int) -> None:
        if self._slots and uid != ORDINARY_UID:
            self._slots.give_back(uid)

    async def _trial(self) -> list[str]:
        try:
            async with self.open(BoxSpec()) as box:
                done = await box.run(["true"])
        except SandboxError as error:
            return [str(error)]
        return [] if done.ok else [f"a box of {self.name} does not run `true`: {done.stderr.decode(errors='replace')}"]


class DockerSandbox(ContainerSandbox):
    name = "docker"
    kind = DOCKER


class PodmanSandbox(ContainerSandbox):
    name = "podman"
    kind = PODMAN


def _system() -> list[Mount]:
    """This machine's /usr, and what its loader needs."""
    beside = [Path(name) for name in USR_LINKS if Path(name).is_dir() and not Path(name).is_symlink()]
    etc = [Path(name) for name in ETC_OF_HOST if Path(name).exists()]
    return [Mount(path, str(path)) for path in (Path("/usr"), *beside, *etc)]


def _files_in(place: WritablePlace) -> int:
    return max(1024, place.size_bytes // BYTES_OF_A_FILE)


def _tmpfs(place: WritablePlace, kind: EngineKind) -> str:
    """Podman knows no nr_inodes: there the init sets it, where the machine's AppArmor allows that."""
    more = f"nr_inodes={_files_in(place)}" if kind is DOCKER else "notmpcopyup"
    return f"rw,exec,nosuid,nodev,size={place.size_bytes},mode={place.mode:04o},{more}"


async def _in_time(work: Coroutine[Any, Any, T]) -> T:
    try:
        async with asyncio.timeout(START_SECONDS):
            return await work
    except TimeoutError as error:
        raise SandboxError("the container did not answer in time") from error
    except ChannelClosed as error:
        raise SandboxError(f"the container ended: {error}") from error


def _in_own_loop(work: Coroutine[Any, Any, list[str]]) -> list[str]:
    """Whoever asks may have a loop that runs."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(asyncio.run(work)))
    thread.start()
    thread.join()
    return found

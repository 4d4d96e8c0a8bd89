"""The sandbox `container`: where a container is the outer box and may make no namespaces of its own.

Each box has a uid and a root directory that no other box has, no capability, the filter of system calls and resource
limits. docs/sandbox.md says what that replaces, and what it cannot.
"""

import asyncio
import marshal
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from rtl_agent.sandbox._box import InitBox, to_the_end
from rtl_agent.sandbox._process import MODULES, START, Channel, ChannelClosed, _readable, compiled, find_python
from rtl_agent.sandbox._seccomp import program as seccomp
from rtl_agent.sandbox._slots import UIDS, resolve
from rtl_agent.sandbox._view import DEVICES, ETC_FILES, ETC_OF_HOST, USR_LINKS, in_order
from rtl_agent.sandbox.cgroup import BoxCgroup
from rtl_agent.sandbox.protocol import BoxSpec, Mount, SandboxError

NAME = "container"
HOME_VARIABLE, LEFT_OUT_VARIABLE = "RTL_AGENT_BOXES", "RTL_AGENT_BOX_LEAVES_OUT"
HOME = Path("/var/lib/rtl-agent/boxes")
LAUNCHER = Path("/usr/local/libexec/rtl-agent/launcher")  # a Python with the capabilities below, for one group
START_SECONDS = 600.0  # the first box of a container copies its system, half a gigabyte
LEAVE_SECONDS = 60.0
FIRST_UID = 49000  # apart from those of the other sandboxes: what has one of these is ended with its box
# Bit by bit in CapEff; who makes a box needs them, and gives them all up before anything runs in it.
CAPABILITIES: Mapping[str, int] = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "SYS_CHROOT": 18,
    "MKNOD": 27,
}
# Of /usr: large, and nothing that a harness or an agent's shell runs.
_UNUSED = ("share/doc", "share/man", "share/info", "share/locale", "share/icons", "share/fonts", "src", "games")
_UNUSED_LIBRARIES = ("jvm", "debug", "modules", "firmware", "chromium", "google-cloud-sdk", "node_modules", "cuda")

# Against bubblewrap: for `doctor`, at the start of a run and in every grade.
WEAKER = (
    "no namespaces: processes are kept apart by uid and files by chroot; sockets and System V IPC are refused",
    "no tmpfs: files are on the container's disk, and what fills its place is ended within a second; what fills the "
    "disk makes errors",
    "no cgroup: memory is limited for each process and not for a box; what fills the container's makes errors",
    "no /proc, terminal or loopback in an agent's shell",
)
# What a check of the conformance suite asks for and this sandbox cannot have.
IMPOSSIBLE: Mapping[str, str] = {
    "boxes_do_not_share_sockets": "without a network namespace every socket but a pair is refused: none can listen",
    "boxes_do_not_share_memory": "without an IPC namespace System V shared memory is refused in every box",
    "no_interfaces": "without a network namespace sockets are refused, so that none can be asked for its interfaces",
    "proc_shows_own_processes": "/proc cannot be mounted here; a box has none, whoever asks for it",
    "shells_have_what_they_want": "terminals and loopback connections need namespaces; both are refused",
    "disk_quota": "a directory on the container's disk has no size; a command that fills it is ended instead",
}


def in_container() -> bool:
    """Whether this process runs in one, as far as its files tell."""
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv", "/.singularity.d")):
        return True
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST") or os.environ.get("container"))  # noqa: SIM112


def capabilities_missing(status: str, of: str = "CapEff") -> list[str]:
    """Those of CAPABILITIES that are not in a set of a process, by its /proc/PID/status."""
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith(f"{of}:")), 0)
    return [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]


def what_is_lacking(status: str, *, is_root: bool) -> str:
    """Of the rights that make a box, by our /proc/PID/status: a sentence, "" where all are there."""
    if missing := capabilities_missing(status, "CapEff" if is_root else "CapBnd"):
        options = " ".join(f"--cap-add={name}" for name in missing)
        return f"the container's root may not {', '.join(missing)}: start the container with `{options}`"
    if not is_root and "NoNewPrivs:\t1" in status:
        return (
            f"{LAUNCHER} has no rights here, because the container was started with no-new-privileges (in Kubernetes "
            "allowPrivilegeEscalation: false): start it without, or as its root with `--user 0`"
        )
    return ""


def launcher() -> Path | None:
    """What makes boxes for an ordinary user; None where there is none that this user may start."""
    return LAUNCHER if LAUNCHER.exists() and os.access(LAUNCHER, os.X_OK) else None


def memory_kills(root: Path = Path("/sys/fs/cgroup")) -> int:
    """How many processes of this container the kernel has ended for want of memory; 0 where that cannot be read."""
    return BoxCgroup([root, root / "memory"]).out_of_memory()


def check_contained() -> list[str]:
    """Why it cannot work here, a sentence each that says what to do; it is tried with a box."""
    if seccomp(shared=True) is None:
        return ["the numbers of this machine's system calls are not known, and boxes without a filter are not safe"]
    if os.geteuid() != 0 and launcher() is None:
        return [
            "this user cannot give a job a uid of its own, so every job could reach the grader and its verdicts: run "
            "as the container's root, use rtl-agent's own image, or allow user namespaces and use bubblewrap"
        ]
    if lacking := what_is_lacking(Path("/proc/self/status").read_text(), is_root=os.geteuid() == 0):
        return [lacking]
    try:
        done = _in_own_loop(ContainedSandbox(slots=1))
    except SandboxError as error:
        return [str(error)]
    if done:
        where = f"set {HOME_VARIABLE} to a directory on a filesystem that allows programs and devices"
        return [f"a box in {boxes_home()} does not run `true > /dev/null` ({done}): {where}"]
    return []


def _in_own_loop(sandbox: "ContainedSandbox") -> str:
    """Whoever asks may have a loop that runs."""
    from concurrent.futures import ThreadPoolExecutor

    async def trial() -> str:
        async with sandbox.open(BoxSpec()) as box:
            done = await box.run(["sh", "-c", "true > /dev/null"])
        return "" if done.ok else done.stderr.decode(errors="replace").strip()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(trial())).result()


class ContainedSandbox:
    """At most `slots` boxes at once."""

    name = NAME
    weaker = WEAKER
    impossible = IMPOSSIBLE
    obstacles = staticmethod(check_contained)
    memory_kills = staticmethod(memory_kills)

    def __init__(self, slots: int) -> None:
        rules = seccomp(shared=True)
        if rules is None or (os.geteuid() != 0 and launcher() is None):
            raise SandboxError(check_contained()[0])
        self._count = slots
        self.python, self._python_mounts = find_python(None)
        self._program = self.python if os.geteuid() == 0 else LAUNCHER
        self._turn: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[InitBox]:
        if spec.image:
            raise SandboxError(f"a box of the image {spec.image} needs an engine: sandbox=docker or sandbox=podman")
        async with self._semaphore():
            process = await self._start(spec, pass_fds)
            box = InitBox(process, spec, tuple(pass_fds), spec.processes)
            try:
                yield box
            finally:
                await to_the_end(box.close())

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._loop is not loop:
            self._turn, self._loop = asyncio.Semaphore(self._count), loop
        return self._turn

    async def _start(self, spec: BoxSpec, pass_fds: Sequence[int]) -> "ContainedProcess":
        order = marshal.dumps(list(self._order(spec).items()), 2)  # read by a Python that may be another version
        code = compiled(self.python, (*MODULES, "container", "tree", "room", "chroot"))
        process = ContainedProcess(self._program, code, pass_fds)
        try:
            async with asyncio.timeout(START_SECONDS):
                await process.channel.send([order])
                kind, *answer = await process.channel.receive()
            if kind != b"ready":
                raise SandboxError(f"the box did not start: {b' '.join(answer).decode(errors='replace')}")
        except (TimeoutError, ChannelClosed) as error:
            said = await to_the_end(process.end())
            raise SandboxError(f"the box did not start: {said or error or 'no answer'}") from error
        except BaseException:
            await to_the_end(process.end())
            raise
        return process

    def _order(self, spec: BoxSpec) -> dict[str, object]:
        """As `_inside.chroot.Order` takes it."""
        mounts = [place for place in in_order([*_system(), *self._python_mounts, *spec.mounts], spec)]
        parts = [place for place in mounts if isinstance(place, Mount)]
        sources = resolve([part.source for part in parts])
        merged = {name: str(Path(name).readlink()) for name in USR_LINKS if Path(name).is_symlink()}
        links = {**merged, **spec.links}
        rules = seccomp(ipc=spec.ipc, shared=True, contained=True)
        return {
            "home": os.fsencode(boxes_home()),
            "uids": (FIRST_UID, FIRST_UID + UIDS),
            "parts": [(os.fsencode(part.target), os.fsencode(sources[part.source])) for part in parts],
            "places": [(os.fsencode(place.path), place.mode) for place in spec.places],
            "links": [(os.fsencode(path), os.fsencode(target)) for path, target in links.items()],
            "files": [(os.fsencode(path), content) for path, content in ETC_FILES.items()],
            "devices": [os.fsencode(name) for name in DEVICES],
            "left_out": [os.fsencode(path) for path in left_out()],
            "disk_bytes": spec.disk_bytes,
            "rules": rules,
        }


class ContainedProcess:
    """The init of one box: as `BoxProcess` is for bubblewrap."""

    def __init__(self, program: Path, code: bytes, pass_fds: Sequence[int]) -> None:
        self._exit = -1
        self._errors = os.memfd_create("init-stderr")
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        source, owner = os.memfd_create("init"), os.pidfd_open(os.getpid())
        os.write(source, code)
        os.lseek(source, 0, os.SEEK_SET)
        start = START.format(fd=source, size=len(code))
        words = [str(theirs.fileno()), str(owner), " ".join(map(str, pass_fds))]
        try:
            self._process = subprocess.Popen(
                [program, "-I", "-S", "-c", start, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[theirs.fileno(), owner, source, *pass_fds],
                env={},
                cwd="/",
                start_new_session=True,  # an interrupt at the terminal is for the host alone
            )
            self._exit = os.pidfd_open(self._process.pid)
        except OSError as error:
            self._release()
            raise SandboxError(f"the init of a box cannot be started: {error}") from error
        finally:
            theirs.close()
            os.close(source)
            os.close(owner)
        self.init_pid = self._process.pid

    def kill(self) -> None:
        """Hang up: the init ends every process of its box, and then itself. Killed, it could end nothing."""
        with suppress(OSError):
            self.channel.shutdown()

    def said(self) -> str:
        return os.pread(self._errors, 4096, 0).decode(errors="replace").strip() if self._errors >= 0 else ""

    async def end(self) -> str:
        """Until its last process is gone and its files are. Returns what the init said on stderr."""
        self.kill()
        try:
            if not await _readable(self._exit, LEAVE_SECONDS):
                with suppress(OSError):  # the container's root is not always who started it
                    signal.pidfd_send_signal(self._exit, signal.SIGKILL)
                await _readable(self._exit, LEAVE_SECONDS)
            self._process.wait(timeout=1)
            return self.said()
        except subprocess.TimeoutExpired as error:
            raise SandboxError("a box cannot be ended: its processes hang in the kernel") from error
        finally:
            self._release()

    def _release(self) -> None:
        self.channel.close()
        for fd in (self._exit, self._errors):
            if fd >= 0:
                os.close(fd)
        self._exit = self._errors = -1


def boxes_home() -> Path:
    """Where the root directories of boxes are made: on the filesystem of /usr where that can be written."""
    return Path(os.environ.get(HOME_VARIABLE) or HOME)


def left_out() -> list[Path]:
    """What of this system boxes do not have."""
    named = [Path(path) for path in os.environ.get(LEFT_OUT_VARIABLE, "").split(":") if path]
    usr = Path("/usr")
    known = [usr / path for path in _UNUSED] + [usr / "lib" / name for name in _UNUSED_LIBRARIES]
    known += sorted(Path("/usr/lib").glob("llvm-*")) + sorted(Path("/usr/local").glob("cuda*"))
    return [*known, *named, boxes_home(), LAUNCHER.parent]


def _system() -> list[Mount]:
    """This machine's /usr, and what its loader needs."""
    beside = [Path(name) for name in USR_LINKS if Path(name).is_dir() and not Path(name).is_symlink()]
    etc = [Path(name) for name in ETC_OF_HOST if Path(name).exists()]
    return [Mount(path, str(path)) for path in (Path("/usr"), *beside, *etc)]

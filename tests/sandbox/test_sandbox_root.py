"""What the bubblewrap sandbox does when root starts it: uids, staging, cgroups."""

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.sandbox import MIB, BoxSpec, BubblewrapSandbox, Limits, Mount, SandboxError, cgroup
from rtl_agent.sandbox._slots import FIRST_UID
from tests.sandbox.conftest import Start

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each box a uid of its own")

TWO_BOXES = """
import asyncio
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox
async def hold():
    sandbox = BubblewrapSandbox(slots=2)
    async with sandbox.open(BoxSpec()) as one, sandbox.open(BoxSpec()) as two:
        print(one.init_pid, two.init_pid, flush=True)
        await asyncio.sleep(600)
asyncio.run(hold())
"""


def uids(pid: int) -> set[int]:
    """Real, effective, saved and filesystem uid, as the kernel has them."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {int(uid) for line in lines if line.startswith(("Uid:", "Gid:", "Groups:")) for uid in line.split()[1:]}


@pytest.fixture
def private() -> Iterator[Path]:
    """A directory that nobody else may enter, with a directory in it that everybody may read."""
    place = Path(tempfile.mkdtemp())
    inner = place / "inner"
    inner.mkdir()
    inner.chmod(0o755)
    (inner / "file").write_text("hidden well")
    (inner / "file").chmod(0o644)
    yield place
    shutil.rmtree(place)


async def test_each_box_has_an_unprivileged_uid_of_its_own() -> None:
    sandbox = BubblewrapSandbox(slots=2)
    async with sandbox.open(BoxSpec()) as one, sandbox.open(BoxSpec()) as two:
        first, second = uids(one.init_pid), uids(two.init_pid)
    assert len(first) == len(second) == 1
    assert first != second
    assert min(first | second) >= FIRST_UID


async def test_processes_never_share_a_uid(start: Start) -> None:
    hosts = [start(TWO_BOXES) for _ in range(3)]
    pids = [int(pid) for host in hosts for pid in host.stdout.readline().split()]
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        found = [uid for pid in (*pids, box.init_pid) for uid in uids(pid)]
    assert len(found) == len(set(found)) == 7


async def test_a_source_below_a_private_directory_is_staged(private: Path) -> None:
    mounts = (Mount(private / "inner", "/given"), Mount(private / "inner" / "file", "/opt/file"))
    before = Path("/proc/self/mountinfo").read_text()
    async with BubblewrapSandbox(slots=1).open(BoxSpec(mounts=mounts)) as box:
        assert (await box.run(["cat", "/given/file", "/opt/file"])).stdout == b"hidden wellhidden well"
        assert not (await box.run(["touch", "/given/file"])).ok
        assert min(uids(box.init_pid)) >= FIRST_UID
        assert Path("/proc/self/mountinfo").read_text() == before
    assert Path("/proc/self/mountinfo").read_text() == before
    assert (private / "inner" / "file").read_text() == "hidden well"


async def test_a_source_that_others_may_not_read_is_named_with_what_to_do(private: Path) -> None:
    with pytest.raises(SandboxError, match="chmod"):
        async with BubblewrapSandbox(slots=1).open(BoxSpec(mounts=(Mount(private, "/given"),))):
            pass


def cgroups() -> list[Path]:
    place = cgroup.find_place()
    assert place is not None
    return [path for parent in place.parents for path in parent.glob(f"{cgroup.PREFIX}-{os.getpid()}-*")]


async def test_a_box_has_a_cgroup_and_its_init_stays_outside() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        assert cgroups()
        names = {path.name for path in cgroups()}
        assert not any(name in Path(f"/proc/{box.init_pid}/cgroup").read_text() for name in names)
        result = await box.run(["sh", "-c", "true"])
        assert result.ok
    assert cgroups() == []


async def test_memory_is_limited_for_the_whole_box() -> None:
    async with BubblewrapSandbox(slots=1).open(BoxSpec(memory_bytes=300 * MIB, disk_bytes=MIB)) as box:
        code = (
            "import os, time\n"
            "kids = []\n"
            "for _ in range(4):\n"
            "    if (kid := os.fork()) == 0:\n        x = b'x' * 120_000_000; time.sleep(1); os._exit(0)\n"
            "    kids.append(kid)\n"
            "print(sorted(os.waitpid(kid, 0)[1] for kid in kids))"
        )
        result = await box.run(["python3", "-c", code], limits=Limits(wall_seconds=20))
        assert b"9" in result.stdout
        assert b"0" in result.stdout
        assert (await box.run(["true"])).ok


async def test_memory_that_outlives_a_command_does_not_hurt_the_init() -> None:
    """System V shared memory stays when its process is killed: it fills the limit, and the next command is told so."""
    async with BubblewrapSandbox(slots=1).open(BoxSpec(memory_bytes=100 * MIB, disk_bytes=MIB, ipc=True)) as box:
        code = (
            "import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
            "for key in range(1, 9):\n"
            "    if os.fork() == 0:\n"
            "        at = libc.shmat(libc.shmget(key, 50_000_000, 0o1666), None, 0)\n"
            "        ctypes.memset(at, 1, 50_000_000); os._exit(0)\n"
            "    os.wait()"
        )
        await box.run(["python3", "-c", code], limits=Limits(wall_seconds=20))
        await box.write("/code/file", b"still here")
        assert await box.read("/code/file") == b"still here"
        await box.run(["true"])


def test_cgroups_of_dead_processes_are_removed(start: Start) -> None:
    host = start(TWO_BOXES)
    host.stdout.readline()
    place = cgroup.find_place()
    assert place is not None
    pattern = f"{cgroup.PREFIX}-{host.pid}-*"
    assert list(place.memory.glob(pattern))
    host.kill()
    host.wait()
    for _ in range(100):
        BubblewrapSandbox(slots=1)
        if not list(place.memory.glob(pattern)):
            break
        time.sleep(0.05)
    assert not list(place.memory.glob(pattern))
    assert not list(place.pids.glob(pattern))


async def test_a_private_umask_does_not_matter(private: Path) -> None:
    old = os.umask(0o077)
    try:
        async with BubblewrapSandbox(slots=1).open(BoxSpec(mounts=(Mount(private / "inner", "/given"),))) as box:
            assert (await box.run(["cat", "/given/file"])).ok
    finally:
        os.umask(old)


SPIN = """
import os, signal, time
def spin(seconds):
    while time.process_time() < seconds: pass
"""
UNWAITED = {
    "auto-reaped": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    "if os.fork() == 0: spin(0.4); os._exit(0)\n"
    "try: os.wait()\n"
    "except ChildProcessError: pass\n",
    "auto-reaped below": "if os.fork() == 0:\n"
    "    signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    "    if os.fork() == 0: spin(0.4); os._exit(0)\n"
    "    try: os.wait()\n"
    "    except ChildProcessError: os._exit(0)\n"
    "os.wait()\n",
    "daemon": "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0: spin(0.4); open('/code/done', 'w'); time.sleep(60)\n"
    "    os._exit(0)\n"
    "while not os.path.exists('/code/done'): time.sleep(0.01)\n",
    "killed at the deadline": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    "if os.fork() == 0: spin(0.4); os._exit(0)\n"
    "if os.fork() == 0: time.sleep(60)\n"
    "time.sleep(60)\n",
}


@pytest.mark.parametrize("name", UNWAITED)
async def test_cpu_time_that_nobody_waits_for_counts(name: str) -> None:
    """It is counted by the box's cgroup, and only for the command that used it."""
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        busy = await box.run(["python3", "-c", SPIN + UNWAITED[name]], limits=Limits(wall_seconds=4))
        assert 0.4 <= busy.cpu_seconds < 2.5, busy
        assert (busy.ended == "wall-time") == (name == "killed at the deadline"), busy
        idle = await box.run(["sleep", "0.2"])
        assert idle.cpu_seconds < 0.2, idle


@pytest.mark.parametrize(
    "code", ["spin(60)", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True: CHILD", "FAN"]
)
async def test_cpu_time_of_all_processes_together_is_limited(code: str) -> None:
    """Though none of them lives long enough to meet a limit of its own."""
    child = "\n    if os.fork() == 0: spin(0.05); os._exit(0)\n    time.sleep(0.05)"
    fan = "for _ in range(8):\n    if os.fork() == 0: spin(60)\ntime.sleep(60)"
    script = SPIN + code.replace("CHILD", child).replace("FAN", fan)
    async with BubblewrapSandbox(slots=1).open(BoxSpec()) as box:
        limits = Limits(wall_seconds=30, cpu_seconds=30, all_cpu_seconds=0.5)
        result = await box.run(["python3", "-c", script], limits=limits)
        assert (result.ended, result.exit_code) == ("signalled", -24), result
        assert 0.5 <= result.cpu_seconds < 1.5, result
        assert (await box.run(["true"], limits=limits)).ok


async def test_a_box_is_started_without_a_copy_of_this_process() -> None:
    """What a fork shares with its child is copied when it is written to: a page fault for each page."""
    sandbox = BubblewrapSandbox(slots=1)
    async with sandbox.open(BoxSpec()):
        pass  # what is imported and compiled only once
    pages = 16_384
    block = bytearray(pages * resource.getpagesize())
    block[:] = bytes([1]) * len(block)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    async with sandbox.open(BoxSpec()):
        for at in range(0, len(block), resource.getpagesize()):
            block[at] = 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < pages / 2

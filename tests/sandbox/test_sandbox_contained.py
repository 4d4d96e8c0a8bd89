"""The sandbox `container`, in which the container is the outer box: here without one, which it does not notice."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.problems import Problem
from rtl_agent.sandbox import (
    CHECKS,
    MIB,
    BoxSpec,
    ContainedSandbox,
    Ended,
    Limits,
    Mount,
    SandboxError,
    registry,
    run_check,
    sandbox_warning,
)
from rtl_agent.sandbox._inside import chroot, tree
from rtl_agent.sandbox._inside.room import Room
from rtl_agent.sandbox._inside.tree import empty
from rtl_agent.sandbox.contained import (
    CAPABILITIES,
    FIRST_UID,
    IMPOSSIBLE,
    LEFT_OUT_VARIABLE,
    capabilities_missing,
    memory_kills,
    what_is_lacking,
)
from tests.sandbox.conftest import Start

of_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root, or the image's launcher, can give each box a uid")
# One or two of each room of the suite; the slow test runs all of them.
FEW = (
    "boxes_do_not_share_processes",
    "boxes_do_not_share_files",
    "boxes_do_not_share_pairs",
    "new_box_is_clean",
    "passed_fds",
    "init_cannot_be_harmed",
    "kill_everything",
    "no_abstract_sockets",
    "no_capabilities",
    "no_mount",
    "no_proc",
    "mounts_are_read_only",
    "writable_places",
    "wall_time_ends_tree",
    "process_count",
    "write_fails",
)
PARTS_KEPT = ("x86_64-linux-gnu", "aarch64-linux-gnu", "python3", f"python3.{sys.version_info[1]}", "python3.11", "ivl")

HOLD = """
import asyncio
from rtl_agent.sandbox import BoxSpec, ContainedSandbox
async def hold():
    async with ContainedSandbox(1).open(BoxSpec()) as box:
        print(box.init_pid, flush=True)
        await box.run(["sh", "-c", "setsid sleep 600 & sleep 600"])
asyncio.run(hold())
"""


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Boxes in a directory of the tests' own, with little of this machine's /usr: it may be large."""
    place = tmp_path_factory.mktemp("boxes")
    unused = [path for path in Path("/usr/lib").iterdir() if path.is_dir() and path.name not in PARTS_KEPT]
    unused += [Path("/usr/share"), Path("/usr/include")]
    unused += [path for path in Path("/usr/local").iterdir() if path.name != "bin"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTL_AGENT_BOXES", str(place))
        patch.setenv(LEFT_OUT_VARIABLE, ":".join(map(str, unused)))
        yield place


@contextmanager
def as_user(uid: int, reached: Path) -> Iterator[None]:
    """This process with another effective uid, which may enter every directory above `reached`."""
    for path in (reached, *reached.parents):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(0o755)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def processes_of(uid: int) -> list[int]:
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                lines = (path / "status").read_text().splitlines()
            except OSError:
                continue
            state = next(line.split()[1] for line in lines if line.startswith("State:"))
            if state != "Z" and any(line.split()[1:2] == [str(uid)] for line in lines if line.startswith("Uid:")):
                found.append(int(path.name))
    return found


def uids(pid: int) -> list[int]:
    """Real, effective, saved and filesystem uid."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [int(word) for line in status if line.startswith("Uid:") for word in line.split()[1:]]


async def none_left(uid: int) -> bool:
    for _ in range(100):
        if not processes_of(uid):
            return True
        await asyncio.sleep(0.1)
    return False


@of_root
@pytest.mark.parametrize("check", [pytest.param(n, marks=() if n in FEW else pytest.mark.slow) for n in CHECKS])
async def test_checks(check: str) -> None:
    result = await run_check(check, ContainedSandbox(slots=2))
    assert result.passed is (check not in IMPOSSIBLE), f"{result.description}\n{result.message}"
    assert result.impossible == IMPOSSIBLE.get(check, "")


def test_checks_that_cannot_pass_are_few_and_say_why() -> None:
    assert set(IMPOSSIBLE) < set(CHECKS)
    assert len(IMPOSSIBLE) <= 6
    assert all(len(reason) > 40 for reason in IMPOSSIBLE.values())


@of_root
async def test_a_box_and_its_init_have_uids_of_their_own_and_neither_is_root() -> None:
    sandbox = ContainedSandbox(slots=2)
    async with sandbox.open(BoxSpec()) as one, sandbox.open(BoxSpec()) as two:
        inits = [uids(one.init_pid), uids(two.init_pid)]
        commands = [int((await box.run(["id", "-u"])).stdout) for box in (one, two)]
        for (real, effective, saved, _), command in zip(inits, commands, strict=True):
            assert effective == command >= FIRST_UID
            assert real == saved == command + 1000
            assert "CapPrm:\t0000000000000000" in Path(f"/proc/{one.init_pid}/status").read_text()
    assert commands[0] != commands[1]


@of_root
async def test_killing_the_owner_ends_its_processes(start: Start) -> None:
    host = start(HOLD)
    host_pid = int(host.stdout.readline())
    uid = uids(host_pid)[1]
    for _ in range(100):
        if len(processes_of(uid)) >= 2:
            break
        await asyncio.sleep(0.05)
    assert len(processes_of(uid)) >= 2
    host.kill()
    assert await none_left(uid)
    assert await none_left(uid + 1000)


@of_root
async def test_what_a_killed_init_leaves_is_ended_before_its_uid_is_used_again() -> None:
    sandbox = ContainedSandbox(slots=1)
    async with sandbox.open(BoxSpec()) as box:
        uid = uids(box.init_pid)[1]
        running = asyncio.create_task(box.run(["sh", "-c", "setsid sleep 600 & sleep 600"]))
        for _ in range(100):
            if len(processes_of(uid)) >= 2:
                break
            await asyncio.sleep(0.05)
        os.kill(box.init_pid, signal.SIGKILL)
        with pytest.raises(SandboxError, match="the box died"):
            await running
    assert processes_of(uid)
    async with sandbox.open(BoxSpec()) as box:
        assert uids(box.init_pid)[1] == uid
        assert await none_left(uid)


@of_root
@pytest.mark.parametrize(
    "script",
    [
        "for n in 1 2 3 4 5; do head -c 8000000 /dev/zero > /code/$n; done; sleep 20",
        "head -c 34000000 /dev/zero >/tmp/x",
    ],
)
async def test_what_fills_its_place_is_ended(script: str) -> None:
    async with ContainedSandbox(1).open(BoxSpec(disk_bytes=32 * MIB)) as box:
        done = await box.run(["sh", "-c", script], limits=Limits(wall_seconds=15))
        assert (done.ended, done.exit_code) == (Ended.SIGNALLED, -signal.SIGXFSZ)


@of_root
async def test_a_tree_is_kept_for_the_next_box_and_follows_its_sources(home: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "file").write_text("old")
    for path in (given, *given.parents):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(0o755)
    sandbox, spec = ContainedSandbox(1), BoxSpec(mounts=(Mount(given, "/opt/given"),), writable=("/code", "/far/away"))
    async with sandbox.open(spec) as box:
        assert (await box.run(["cat", "/opt/given/file"])).stdout == b"old"
        await box.run(["sh", "-c", "mkdir -p /far/away/deep; echo x > /far/away/deep/file; chmod 000 /far/away/deep"])
        uid = uids(box.init_pid)[1]
    usr = (home / str(uid) / "root" / "usr" / "bin").stat()
    async with sandbox.open(spec) as box:
        assert uids(box.init_pid)[1] == uid
        assert (await box.run(["ls", "-A", "/far/away", "/code"])).stdout.split() == [b"/code:", b"/far/away:"]
    assert (home / str(uid) / "root" / "usr" / "bin").stat().st_ino == usr.st_ino
    (given / "file").write_text("newer")
    async with sandbox.open(spec) as box:
        assert (await box.run(["cat", "/opt/given/file"])).stdout == b"newer"
    async with sandbox.open(BoxSpec()) as box:
        assert (await box.run(["ls", "/opt", "/far"])).stdout == b""


def room_of(place: Path, most: int = 8 * MIB) -> Room:
    return Room([os.fsencode(place)], most)


@of_root
def test_files_in_a_directory_that_nobody_may_read_are_counted(tmp_path: Path) -> None:
    """It is looked at as the box's user, for whom that is an obstacle, unlike for root."""
    place = tmp_path / "place"
    (place / "hidden").mkdir(parents=True)
    (place / "hidden" / "file").write_bytes(b"x" * 9 * MIB)
    (place / "hidden").chmod(0)
    subprocess.run(["chown", "-R", str(FIRST_UID), place], check=True)
    with as_user(FIRST_UID, tmp_path):
        assert room_of(place).exceeded(now=True)
        assert not room_of(place, 10 * MIB).exceeded(now=True)
    assert (place / "hidden").stat().st_mode & 0o7777 == 0


def test_a_directory_too_deep_to_look_into_counts_as_full(tmp_path: Path) -> None:
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(tmp_path)
        for _ in range(30):
            os.mkdir("d" * 200)  # noqa: PTH102
            os.chdir("d" * 200)
    finally:
        os.chdir(here)
    assert room_of(tmp_path).exceeded(now=True)
    empty(os.fsencode(tmp_path))
    assert not room_of(tmp_path).exceeded(now=True)


def test_a_filesystem_that_others_filled_is_no_limit_of_a_box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever filled it: the command of no box is to fail for it."""
    room = room_of(tmp_path)
    assert not room.nearly_full()
    free = os.statvfs("/tmp").f_bavail * os.statvfs("/tmp").f_frsize
    monkeypatch.setattr("rtl_agent.sandbox._inside.room.LEAST_FREE", 2 * free)
    assert room.nearly_full()
    assert not room.exceeded(now=True)


@of_root
async def test_a_socket_pair_stays_a_pair(home: Path) -> None:
    """A datagram socket could be given an abstract name, by itself or by the kernel, and reach any other box."""
    code = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def refused(call):
    try: call()
    except OSError as error: return errno.errorcode[error.errno]
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for flags in (0, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
        one, other = socket.socketpair(socket.AF_UNIX, kind | flags)
        one.send(b"x"); assert other.recv(1) == b"x"
        print(refused(lambda: one.bind("\\0name")), refused(lambda: one.connect("\\0name")), refused(one.listen))
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    print(refused(lambda: socket.socketpair(socket.AF_UNIX, kind)))
print(refused(lambda: socket.socketpair(30, socket.SOCK_SEQPACKET)))
"""
    for ipc in (False, True):
        async with ContainedSandbox(1).open(BoxSpec(ipc=ipc)) as box:
            done = await box.run(["/usr/bin/python3", "-I", "-c", code])
            assert done.stdout.decode().split() == ["EPERM"] * 15, done


@of_root
async def test_a_link_in_a_place_does_not_lead_a_later_box_out(home: Path, tmp_path: Path) -> None:
    """Root clears the places of the last box; one of them was below a directory that its commands could replace."""
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner" / "file").write_text("kept")
    sandbox, spec = ContainedSandbox(1), BoxSpec(writable=("/code", "/code/way/inner"))
    async with sandbox.open(spec) as box:
        done = await box.run(["sh", "-c", f"mv /code/way /code/gone && ln -s {outside} /code/way; ls -l /code"])
        assert done.ok, done
        uid = uids(box.init_pid)[1]
        os.kill(box.init_pid, signal.SIGKILL)  # it would clear its places itself
    async with sandbox.open(spec) as box:
        assert uids(box.init_pid)[1] == uid
        assert (await box.run(["ls", "-A", "/code", "/code/way/inner"])).ok
    assert (outside / "inner" / "file").read_text() == "kept"


def test_what_cannot_be_linked_is_copied_once_for_all_boxes(tmp_path: Path) -> None:
    home = tmp_path / "boxes"
    home.mkdir()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        source = Path(elsewhere)
        (source / "inner").mkdir()
        (source / "inner" / "file").write_text("given")
        (source / "left out").touch()

        def origin(looked: str) -> Path:
            part = (b"/opt/given", os.fsencode(source), looked)
            return Path(os.fsdecode(tree.origin(os.fsencode(home), part, [os.fsencode(source / "left out")])))

        copy = origin("first")
        assert [path.name for path in sorted(copy.rglob("*"))] == ["inner", "file"]
        (source / "inner" / "file").write_text("other")
        assert origin("first") == copy
        assert (copy / "inner" / "file").read_text() == "given"
        assert (origin("second") / "inner" / "file").read_text() == "other"
    (tmp_path / "near").mkdir()
    assert tree.origin(os.fsencode(home), (b"/x", os.fsencode(tmp_path / "near"), ""), []) == os.fsencode(
        tmp_path / "near"
    )


def test_containers_beside_each_other_begin_with_other_uids() -> None:
    """The kernel counts the processes of a uid in all of them together."""
    uids_of = range(FIRST_UID, FIRST_UID + 900)
    orders = [chroot.turned(uids_of, number) for number in (4026531836, 4026532901, 4026532902)]
    assert all(sorted(order) == list(uids_of) for order in orders)
    firsts = sorted(order[0] for order in orders)
    assert min(b - a for a, b in itertools.pairwise(firsts)) > 32


def test_however_deep_a_directory_is_it_is_emptied(tmp_path: Path) -> None:
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(tmp_path)
        for _ in range(3000):  # 15,000 characters: no path leads there
            os.mkdir("deep")  # noqa: PTH102
            os.chdir("deep")
            Path("file").touch()
    finally:
        os.chdir(here)
    (tmp_path / "link").symlink_to("/")
    empty(os.fsencode(tmp_path))
    assert list(tmp_path.iterdir()) == []


REFUSAL = """
from rtl_agent.sandbox import ContainedSandbox, SandboxError
print(ContainedSandbox.obstacles()[0])
try: ContainedSandbox(1)
except SandboxError as error: print(error)
"""


def test_an_ordinary_user_is_refused_and_told_what_remains(start: Start) -> None:
    """Its jobs would have its uid: they could reach the grader, and what it is told."""
    host = start(REFUSAL, ordinary=True)
    said, raised = host.communicate()[0].splitlines()
    assert said == raised
    assert "cannot give a job a uid of its own, so every job could reach the grader" in said
    assert "bubblewrap" in said


def test_missing_capabilities_are_named() -> None:
    everything = "CapEff:\t000001ffffffffff\n"
    assert capabilities_missing(everything) == []
    assert capabilities_missing(f"CapEff:\t{0xA80425FB:016x}\n") == []  # Docker's default
    assert capabilities_missing(f"CapEff:\t{0x800405FB:016x}\n") == ["MKNOD"]  # Podman's
    assert capabilities_missing("CapEff:\t0\n") == list(CAPABILITIES)


def test_what_an_ordinary_users_launcher_lacks_is_said() -> None:
    status = "CapBnd:\t00000000a80425fb\nNoNewPrivs:\t{}\n"
    assert what_is_lacking(status.format(0), is_root=False) == ""
    assert "no-new-privileges" in what_is_lacking(status.format(1), is_root=False)
    podmans = what_is_lacking("CapBnd:\t00000000800405fb\nNoNewPrivs:\t0\n", is_root=False)
    assert podmans.endswith("start the container with `--cap-add=MKNOD`")
    assert "SYS_CHROOT" in what_is_lacking("CapEff:\t0\n", is_root=True)


@pytest.mark.parametrize(
    ("contained", "of_bubblewrap", "of_container", "chosen"),
    [
        (True, ["no namespaces"], [], "container"),
        (False, ["no namespaces"], [], "bubblewrap"),
        (True, [], [], "bubblewrap"),
        (True, ["no namespaces"], ["no uid"], "bubblewrap"),
    ],
)
def test_it_is_chosen_only_in_a_container_in_which_bubblewrap_cannot_work(
    contained: bool,
    of_bubblewrap: list[str],
    of_container: list[str],
    chosen: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RTL_AGENT_SANDBOX", raising=False)
    monkeypatch.setattr(registry, "in_container", lambda: contained)
    monkeypatch.setattr(registry, "check_available", lambda: of_bubblewrap)
    monkeypatch.setattr(ContainedSandbox, "obstacles", staticmethod(lambda: of_container))
    registry._default.cache_clear()
    try:
        assert registry.sandbox_name() == chosen
        assert registry.sandbox_name("docker") == "docker"
        assert ("weaker" in sandbox_warning()) is (chosen == "container")
    finally:
        registry._default.cache_clear()


@of_root
@pytest.mark.parametrize("path", [SimulationMode.EXACT, SimulationMode.FAST])
async def test_every_grade_says_that_its_sandbox_is_weaker(
    path: SimulationMode, bundled: dict[str, Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTL_AGENT_SANDBOX", "container")
    problem = bundled["rtl_fixed_priority_arbiter_0001"]
    async with Grader(jobs=1, path=path) as grader:
        grade = await grader.grade(problem, submit(problem, problem.reference or {}))
    assert grade.outcome is Outcome.PASSED, grade.reasons
    assert grade.path == path
    assert grade.tools["sandbox"].startswith("container, weaker than bubblewrap (no namespaces")


@of_root
async def test_what_fails_while_memory_runs_out_is_an_error(
    bundled: dict[str, Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boxes share the container's memory: it may have been another one's process that took it."""
    monkeypatch.setenv("RTL_AGENT_SANDBOX", "container")
    monkeypatch.setattr(ContainedSandbox, "memory_kills", staticmethod(itertools.count().__next__))
    problem = bundled["rtl_fixed_priority_arbiter_0001"]
    broken = {path: "module no_arbiter; endmodule\n" for path in problem.targets}
    async with Grader(jobs=1) as grader:
        right = await grader.grade(problem, submit(problem, problem.reference or {}))
        wrong = await grader.grade(problem, submit(problem, broken))
    assert (right.outcome, wrong.outcome) == (Outcome.PASSED, Outcome.ERROR)
    assert "memory ran out" in wrong.reasons[0]


def test_the_kernels_count_of_what_it_ended_is_read(tmp_path: Path) -> None:
    assert memory_kills(tmp_path) == 0
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    assert memory_kills(tmp_path) == 2
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\noom 4\noom_kill 3\noom_group_kill 0\n")
    assert memory_kills(tmp_path) == 3


@of_root
def test_doctor_says_what_is_weaker_and_which_checks_are_impossible() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rtl_agent.cli.main", "doctor", "--sandbox", "container"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "sandbox: container works" in done.stdout, done.stdout + done.stderr
    assert "weaker than bubblewrap (no namespaces" in " ".join(done.stdout.split())

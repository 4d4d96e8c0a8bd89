"""What is true of boxes that are containers, on a daemon that the tests start themselves."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.sandbox import (
    CHECKS,
    MIB,
    BoxSpec,
    ContainerSandbox,
    DockerSandbox,
    Limits,
    Mount,
    PodmanSandbox,
    SandboxError,
    run_check,
)
from rtl_agent.sandbox.container.engine import LABEL, Engine
from tests.sandbox.engines import ENGINES, engine

pytestmark = pytest.mark.containers
KINDS: dict[str, type[ContainerSandbox]] = {"docker": DockerSandbox, "podman": PodmanSandbox}
# One of each room of the suite; the slow test runs all of them.
FEW = (
    "passed_fds",
    "no_proc",
    "no_capabilities",
    "no_namespaces",
    "writable_places",
    "wall_time_ends_tree",
    "read_irregular",
)

HOLD = """
import asyncio, sys
from rtl_agent.sandbox import BoxSpec, make_sandbox
async def hold():
    async with make_sandbox(1, sys.argv[1]).open(BoxSpec()) as box:
        print(box.init_pid, flush=True)
        await box.run(["sh", "-c", "setsid sleep 600 & sleep 600"])
asyncio.run(hold())
"""


@pytest.fixture(scope="module", params=[pytest.param("docker"), pytest.param("podman", marks=pytest.mark.slow)])
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    with engine(request.param) as variables, pytest.MonkeyPatch.context() as patch:
        for variable, value in variables.items():
            patch.setenv(variable, value)
        yield request.param


def holder(name: str) -> tuple["subprocess.Popen[str]", int]:
    """A process with a box, and the pid of that box's init."""
    host = subprocess.Popen([sys.executable, "-c", HOLD, name], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    return host, int(host.stdout.readline())


def containers(name: str) -> list[str]:
    found = Engine(KINDS[name].kind).api.containers(all=True, filters={"label": LABEL})
    return [one["Id"] for one in found]


async def none_left(name: str) -> bool:
    for _ in range(300):
        if not await asyncio.to_thread(containers, name):
            return True
        await asyncio.sleep(0.1)
    return False


def test_it_works_here(name: str) -> None:
    assert KINDS[name].obstacles() == []


@pytest.mark.parametrize("check", FEW)
async def test_a_check_of_each_kind(name: str, check: str) -> None:
    result = await run_check(check, KINDS[name](slots=2))
    assert result.passed, f"{result.description}\n{result.message}"


@pytest.mark.slow
@pytest.mark.parametrize("reuse", [False, True])
async def test_every_check_of_the_suite(name: str, reuse: bool) -> None:
    sandbox = KINDS[name](slots=2, reuse=reuse)
    results = [await run_check(check, sandbox) for check in CHECKS]
    sandbox.close()
    assert [f"{result.name}: {result.message}" for result in results if not result.passed] == []


async def test_a_container_is_as_locked_as_it_can_be(name: str) -> None:
    sandbox = KINDS[name](slots=1)
    async with sandbox.open(BoxSpec(memory_bytes=300 * MIB, processes=50)) as box:
        assert (await box.run(["id", "-u"])).stdout.strip() != b"0"
        [one] = containers(name)
        host = sandbox.engine().api.inspect_container(one)["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert not host["Privileged"]
    assert host["PidsLimit"] == 52
    assert 300 * MIB <= host["Memory"] <= 900 * MIB
    assert any("no-new-privileges" in option for option in host["SecurityOpt"])
    assert not any("seccomp=unconfined" in option for option in host["SecurityOpt"])
    assert host["AutoRemove"]


async def test_nothing_is_left_of_a_box(name: str) -> None:
    sandbox = KINDS[name](slots=2)
    async with sandbox.open(BoxSpec()) as box:
        await box.run(["sh", "-c", "setsid sleep 60 &"])
        pid = box.init_pid
    assert not Path(f"/proc/{pid}").exists()
    assert containers(name) == []
    assert not list(Path("/tmp").glob("rtl-agent-door-*"))


async def test_sixteen_boxes_at_once(name: str) -> None:
    sandbox = KINDS[name](slots=16)

    async def work(number: int) -> bytes:
        async with sandbox.open(BoxSpec()) as box:
            await box.write("/code/number", b"%d" % number)
            await box.run(["sleep", "0.5"])
            return (await box.run(["cat", "/code/number"])).stdout

    assert await asyncio.gather(*(work(number) for number in range(16))) == [b"%d" % number for number in range(16)]


async def test_killing_the_owner_ends_and_removes_its_container(name: str) -> None:
    host, init = holder(name)
    assert len(containers(name)) == 1
    host.kill()
    host.communicate()
    assert await none_left(name)
    assert not Path(f"/proc/{init}").exists()


async def test_what_a_killed_process_left_is_removed_at_the_next_start(name: str) -> None:
    """Here one whose init does not notice: it is stopped."""
    host, init = holder(name)
    os.kill(init, signal.SIGSTOP)
    host.kill()
    host.communicate()
    assert len(containers(name)) == 1
    KINDS[name](slots=1).engine()
    assert await none_left(name)


async def test_cancelling_at_any_moment_leaves_nothing(name: str) -> None:
    sandbox = KINDS[name](slots=1)

    async def work() -> None:
        async with sandbox.open(BoxSpec()) as box:
            await box.run(["sleep", "60"])

    for delay in (0.01, 0.1, 0.3, 0.6, 1.0):
        task = asyncio.create_task(work())
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert containers(name) == []


async def test_a_slot_may_keep_its_container(name: str, tmp_path: Path) -> None:
    """It is cleared for the next box; a box of another kind, or one in which something went wrong, gets a new one."""
    sandbox = KINDS[name](slots=1, reuse=True)
    pids = []
    for _ in range(2):
        async with sandbox.open(BoxSpec()) as box:
            left = await box.run(
                ["sh", "-c", "ls -A /code /tmp | grep -v :; mkdir -p /code/a/b; echo x > /tmp/y; chmod 0 /code/a"]
            )
            assert left.stdout.strip() == b""
            pids.append(box.init_pid)
    assert pids[0] == pids[1]
    async with sandbox.open(BoxSpec(processes=33)) as box:
        assert box.init_pid != pids[0]
    assert len(containers(name)) == 1
    async with sandbox.open(BoxSpec(processes=33)) as box:
        pid = box.init_pid
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await box.run(["sleep", "60"])
    async with sandbox.open(BoxSpec(processes=33)) as box:
        assert box.init_pid != pid
    sandbox.close()
    assert await none_left(name)


async def test_files_alone_do_not_kill_a_box(name: str) -> None:
    """Neither full places nor as many empty files as they take leave the init without memory."""
    async with KINDS[name](slots=1).open(BoxSpec(memory_bytes=64 * MIB, disk_bytes=64 * MIB)) as box:
        fill = "for d in /code /tmp; do head -c 100000000 /dev/zero > $d/full; done"
        assert not (await box.run(["sh", "-c", fill], limits=Limits(wall_seconds=30))).ok
        many = "import os\nfor n in range(10**7): os.close(os.open(f'/code/{n}', os.O_CREAT))"
        await box.run(["/usr/bin/python3", "-c", many], limits=Limits(wall_seconds=30))
        assert (await box.run(["echo", "usable"])).stdout == b"usable\n"


async def test_an_image_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(SandboxError, match=rf"no/such:image is not on this machine.*{name} pull no/such:image"):
        async with KINDS[name](slots=1).open(BoxSpec(image="no/such:image")):
            pass


async def test_a_private_mount_source_is_refused_with_what_helps(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    with pytest.raises(SandboxError, match="chmod -R o"):
        async with KINDS[name](slots=1).open(BoxSpec(mounts=(Mount(secret, "/opt/secret"),))):
            pass


@pytest.mark.parametrize("name", ENGINES)
def test_a_daemon_that_is_not_there_is_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS[name].kind
    monkeypatch.setenv(kind.variable, "unix:///no/such/socket")
    [said] = KINDS[name].obstacles()
    assert said.startswith(f"no {name} daemon answers at unix:///no/such/socket")
    assert kind.start in said
    monkeypatch.setenv(kind.variable, "tcp://10.0.0.1:2375")
    assert "another machine" in KINDS[name].obstacles()[0]

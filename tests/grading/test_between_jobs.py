"""A job finds nothing of the job before it, and a warm box as it would find a fresh one."""

import base64
import json
import os
import re
import zlib
from typing import Any

import pytest

from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.grading.workspace import PROBE
from rtl_agent.problems import CocotbVersion
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox, Mount
from tests.grading.box_state import leaving, telling
from tests.grading.test_fast import descendants
from tests.grading.test_grader import INVERTER, WIRE, plain


async def told(grader: Grader, cocotb_version: CocotbVersion, *, session: bool = False) -> dict[str, Any]:
    """What the harness and the simulator found."""
    problem = telling(cocotb_version, session=session)
    grade = await grader.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))  # only what failed has a log
    assert grade.reasons == ("checks.inverts: a=0: y should be 1",), (grade.reasons, grade.log)
    packed = re.findall(r"STATE (\w+) (\S+) ", grade.log)
    found = {who: json.loads(zlib.decompress(base64.b85decode(text))) for who, text in packed}
    assert set(found) == {"harness", "simulator"}, grade.log
    return found


def warm_processes() -> set[int]:
    return {pid for pid, command in descendants(os.getpid()).items() if "rtl_agent_warm.py" in command}


@pytest.mark.parametrize("cocotb_version", list(CocotbVersion))
async def test_a_job_finds_the_box_as_if_it_were_the_first(cocotb_version: CocotbVersion) -> None:
    """After a harness, or a test in the simulator, that left everything it could."""
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        first = await told(grader, cocotb_version)
        warm = warm_processes()
        for in_simulator in (False, True):
            problem = leaving(cocotb_version, in_simulator=in_simulator)
            grade = await grader.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))
            assert "LEFT" in grade.log, (grade.reasons, grade.log)
            assert await told(grader, cocotb_version) == first
        assert warm_processes() == warm, "another box was taken: nothing was shown"


async def test_a_box_that_cannot_be_cleared_is_not_used_again() -> None:
    """Directories that are nested deeper than a path can be long: the job keeps its grade, the next has a new box."""
    nest = "import os\n    os.chdir('/tmp')\n    for _ in range(3000): os.mkdir('d' * 50), os.chdir('d' * 50)\n"
    nesting = plain("def test_dut():\n    run()\n    " + nest)
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        for number in range(2):
            first = await told(grader, CocotbVersion.V2)
            warm = warm_processes()
            grade = await grader.grade(nesting, submit(nesting, {"rtl/dut.sv": f"{INVERTER}// {number}\n"}))
            assert (grade.outcome, grade.path) == (Outcome.PASSED, "fast"), grade.reasons
            assert warm_processes().isdisjoint(warm)
            assert await told(grader, CocotbVersion.V2) == first


async def test_what_is_mounted_in_a_writable_place_stays(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tools that are installed below /tmp, say."""
    tools = tmp_path_factory.mktemp("tools")
    for parent in (tools, *tools.parents):
        if parent.stat().st_uid == os.getuid():
            parent.chmod(parent.stat().st_mode | 0o055)
    (tools / "tool").write_text("a tool")
    spec = BoxSpec(
        mounts=(Mount(PROBE, "/opt/probe"), Mount(tools, "/tmp/a/tools"), Mount(tools / "tool", "/code/one")),
        writable=("/code", "/code/inner"),
    )
    modes = {place.path: place.mode for place in spec.places}
    code = f"""
import os, sys
sys.path.insert(0, "/opt/probe")
from rtl_agent_warm_places import Places
places = Places({modes})
def look():
    return sorted((at, oct(os.stat(at).st_mode)) for top in {list(modes)} for at, _, _ in os.walk(top))
before = look()
for place in ("/tmp", "/tmp/a", "/code", "/code/inner"):
    os.makedirs(place + "/left/behind")
    open(place + "/file", "w").close()
    os.chmod(place, 0o100)
places.clear()
assert look() == before, look()
print(open("/tmp/a/tools/tool").read(), open("/code/one").read(), os.listdir("/tmp/a"), os.listdir("/code/inner"))
"""
    async with BubblewrapSandbox(slots=1).open(spec) as box:
        result = await box.run(["python3", "-c", code])
    assert result.stdout == b"a tool a tool ['tools'] []\n", result


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """Without what a design cannot find out, and a harness has no use for."""
    kept = dict(found)
    for name in ("processes", "room", "used"):  # a warm box has more processes, which take room
        del kept[name]
    kept["limits"].pop("RLIMIT_CPU")  # one second more: the wall clock is there first
    kept["descriptors"] = {number for number in kept["descriptors"] if int(number) not in range(1, 20)}
    return kept


@pytest.mark.parametrize("session", [False, True], ids=["plain", "session"])
@pytest.mark.parametrize("cocotb_version", list(CocotbVersion))
async def test_a_warm_box_looks_like_a_fresh_one(cocotb_version: CocotbVersion, session: bool) -> None:
    """To the harness and to the simulator: files, modes, environment, limits, signals, search path, arguments."""
    found = []
    for path in (SimulationMode.EXACT, SimulationMode.FAST):
        async with Grader(jobs=1, path=path) as grader:
            found.append(await told(grader, cocotb_version, session=session))
    exact, fast = found
    for who in ("harness", "simulator"):
        assert comparable(fast[who]) == comparable(exact[who])

"""The fast path's own promises: nothing passes from job to job, what dies is replaced, root is not needed."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import rtl_agent
from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.grading.harness_python import is_plain, plain_file, pytest_command
from rtl_agent.problems import Problem, Service, read_problems
from rtl_agent.toolchain.home import home

ARBITER = "rtl_fixed_priority_arbiter_0001"
ORDINARY_UID = 47_998


def descendants(pid: int) -> dict[int, str]:
    """Every process below this one, with its command line."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found: dict[int, str] = {}
    for process in parents:
        above = process
        while above in parents and above != pid:
            above = parents[above]
        if above == pid and process != pid:
            try:
                found[process] = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def design(problem: Problem, change: str = "") -> dict[str, str]:
    assert problem.reference is not None
    return {path: text.replace("endmodule", f"{change}\nendmodule") for path, text in problem.reference.items()}


@pytest.mark.parametrize("program", ["rtl_agent_warm.py", "warm_start", "ivl/ivl", "ivl/ivlpp"])
async def test_a_warm_process_that_died_is_replaced(program: str, bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        before = await grader.grade(problem, submit(problem, design(problem)))
        victims = [
            pid for pid, command in descendants(os.getpid()).items() if program in command and "bwrap" not in command
        ]
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        after = await grader.grade(problem, submit(problem, design(problem, "// another")))
    assert (before.outcome, after.outcome) == (Outcome.PASSED, Outcome.PASSED), after.reasons
    assert after.path == "fast"


async def test_nothing_is_left_when_the_grader_closes(bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        await grader.grade(problem, submit(problem, design(problem)))
        assert any("rtl_agent_warm" in command for command in descendants(os.getpid()).values())
    assert not [
        command for command in descendants(os.getpid()).values() if "rtl_agent_warm" in command or "bwrap" in command
    ]


async def test_a_job_finds_nothing_of_the_one_before(bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    places = ("/tmp/left", "/code/rundir/left", "/code/rtl/left", "/rundir/left", "/code/rundir/sim_build/left")
    leave = "".join(f'fd = $fopen("{place}", "w"); $fclose(fd);' for place in places)
    look = "".join(f'fd = $fopen("{place}", "r"); if (fd != 0) $display("FOUND {place}");' for place in places)
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        first = await grader.grade(problem, submit(problem, design(problem, f"integer fd; initial begin {leave} end")))
        assert first.outcome is Outcome.PASSED, first.reasons
        spying = f'integer fd; initial begin {look} $display("LOOKED"); $finish; end'
        second = await grader.grade(problem, submit(problem, design(problem, spying)))
    assert second.outcome is Outcome.FAILED
    assert "LOOKED" in second.log
    assert "FOUND" not in second.log, second.log


async def test_a_cancelled_grade_ends_its_simulation(bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        await grader.grade(problem, submit(problem, design(problem)))
        endless = asyncio.create_task(grader.grade(problem, submit(problem, design(problem, "initial forever #0 ;"))))
        await asyncio.sleep(1.0)
        endless.cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless
        after = await grader.grade(problem, submit(problem, design(problem, "// after")))
        assert after.outcome is Outcome.PASSED


async def test_an_upgraded_tool_is_noticed(bundled: dict[str, Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    """A box that was warmed with the old tool is not used again."""
    from rtl_agent.toolchain import Toolchain

    problem = bundled[ARBITER]
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        await grader.grade(problem, submit(problem, design(problem)))
        old = {pid for pid, command in descendants(os.getpid()).items() if "rtl_agent_warm.py" in command}
        real = Toolchain.fingerprint
        monkeypatch.setattr(Toolchain, "fingerprint", lambda self: (*real(self), ("new", 1, 1)))
        await grader.grade(problem, submit(problem, design(problem, "// again")))
        new = {pid for pid, command in descendants(os.getpid()).items() if "rtl_agent_warm.py" in command}
    assert old
    assert new
    assert old.isdisjoint(new)


def reachable(path: Path) -> bool:
    """Whether any user may go there."""
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))


def test_an_ordinary_user_grades_on_both_paths(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The core of the suite without root: user namespaces instead of a uid for each slot."""
    script = """
import asyncio, json, sys
from rtl_agent.grading import Grader, SimulationMode, submit
from rtl_agent.problems import load_near_misses, load_problems
async def main():
    problems = {p.id: p for p in load_problems("bundled")}
    chosen = ("rtl_fixed_priority_arbiter_0001", "rtl_mod_counter_0001", "rtl_debouncer_0001")
    said = []
    for path in SimulationMode.EXACT, SimulationMode.FAST:
        async with Grader(jobs=2, path=path) as grader:
            for name in chosen:
                problem = problems[name]
                miss = next(m for m in load_near_misses() if m.problem_id == name)
                for files in problem.reference, miss.files:
                    grade = await grader.grade(problem, submit(problem, files))
                    said.append([name, grade.path, grade.outcome, grade.reasons[:1]])
    print(json.dumps(said))
asyncio.run(main())
"""
    place = tmp_path_factory.mktemp("ordinary")
    for parent in (place, *place.parents):
        if parent.stat().st_uid == os.getuid() and not reachable(parent):
            parent.chmod(parent.stat().st_mode | 0o055)
    for package in (rtl_agent, yaml):
        shutil.copytree(
            Path(package.__file__ or "").parent,
            place / package.__name__,
            ignore=shutil.ignore_patterns("__pycache__", "*.so"),
        )
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    tools = home()
    if not reachable(tools):
        shutil.copytree(tools, place / "home", symlinks=True, ignore=shutil.ignore_patterns("icarus"))
        tools = place / "home"
    writable = place / "scratch"
    writable.mkdir()
    writable.chmod(0o777)
    user = {"user": ORDINARY_UID, "group": ORDINARY_UID, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        ["/usr/bin/python3" if os.geteuid() == 0 else sys.executable, "-c", script],
        env={
            "PYTHONPATH": str(place),
            "RTL_AGENT_HOME": str(tools),
            "PATH": "/usr/bin:/bin",
            "HOME": str(writable),
            "TMPDIR": str(writable),
        },
        cwd=writable,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **user,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr
    grades = json.loads(done.stdout)
    assert [grade[2] for grade in grades] == ["passed", "failed"] * 6, grades
    assert [grade[1] for grade in grades] == ["exact"] * 6 + ["fast"] * 6


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("def test_a():\n    pass\n", True),
        ("import pytest\n@pytest.mark.parametrize('a, b', [(1, 2)])\ndef test_a(a, b):\n    pass\n", True),
        ("import pytest\n@pytest.mark.parametrize('a', [1], ids=str)\ndef test_a(a):\n    pass\n", True),
        ("def test_a(WIDTH=8):\n    pass\n", True),
        ("def test_a(tmp_path):\n    pass\n", False),
        ("import pytest\n@pytest.fixture\ndef x():\n    pass\ndef test_a(x):\n    pass\n", False),
        ("class TestThing:\n    def test_a(self):\n        pass\n", False),
        ("import pytest\n@pytest.mark.skip\ndef test_a():\n    pass\n", False),
        ("from checks import *\n", False),
        ("from checks import test_b\n", False),
        ("async def test_a():\n    pass\n", False),
        ("def test_a():\n    yield 1\n", False),
        ("pytestmark = 1\ndef test_a():\n    pass\n", False),
        ("def setup_module():\n    pass\ndef test_a():\n    pass\n", False),
        ("import pytest\ndef test_a():\n    pytest.xfail('known')\n", False),
        ("import pytest as p\ndef test_a():\n    p.xfail('known')\n", False),
        ("from pytest import exit\ndef test_a():\n    exit('now')\n", False),
        ("import unittest\ndef test_a():\n    raise unittest.SkipTest\n", False),
        ("def test_a():\n    pass\ntest_a.__test__ = False\n", False),
        ("import pytest\n@pytest.mark.parametrize('a', [pytest.param(1)])\ndef test_a(a):\n    pass\n", False),
        ("import pytest\ndef test_a():\n    pytest.fail('no')\n", True),
        ("this is no Python", False),
    ],
)
def test_what_needs_no_pytest_session(text: str, plain: bool) -> None:
    assert is_plain(text) == plain


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("pytest", "/src/test_runner.py", "-v"), ["pytest", "/src/test_runner.py", "-v"]),
        (("sh", "-c", "pip install aes && pytest -s /src/t.py"), ["pytest", "-s", "/src/t.py"]),
        (("/bin/sh", "-c", "pytest /src/a.py; pytest /src/b.py"), None),
        (("sh", "-c", "cd /x && pytest"), None),
        (("make", "test"), None),
    ],
)
def test_which_services_are_one_pytest_command(argv: tuple[str, ...], words: list[str] | None) -> None:
    assert pytest_command(Service("x", argv, {}, False)) == words


async def test_a_service_that_is_no_pytest_command_takes_the_exact_path(bundled: dict[str, Problem]) -> None:
    from dataclasses import replace

    problem = bundled[ARBITER]
    service = replace(problem.harness.services[0], argv=("sh", "-c", "cd /code/rundir; pytest /src/test_runner.py"))
    odd = replace(problem, harness=replace(problem.harness, services=(service,)))
    async with Grader(jobs=1) as grader:
        grade = await grader.grade(odd, submit(odd, design(odd)))
    assert grade.outcome is Outcome.PASSED, grade.reasons
    assert grade.path == "exact"
    assert "more than one pytest command" in grade.path_reason


async def test_without_the_vpi_module_everything_takes_the_exact_path(
    bundled: dict[str, Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rtl_agent.toolchain import Toolchain, ToolMissing

    def missing(self: Toolchain) -> Path:
        raise ToolMissing("cc", "there is no compiler")

    monkeypatch.setattr(Toolchain, "warm_start", missing)
    problem = bundled[ARBITER]
    async with Grader(jobs=1) as grader:
        grade = await grader.grade(problem, submit(problem, design(problem)))
    assert (grade.outcome, grade.path) == (Outcome.PASSED, "exact")
    assert "there is no compiler" in grade.path_reason


@pytest.mark.cvdp
def test_most_of_cvdp_is_plain(cvdp: Path) -> None:
    services = [
        (problem, service)
        for problem in read_problems(cvdp)
        if problem.needs == "open-tools"
        for service in problem.harness.services
    ]
    plain = sum(plain_file(problem, service) is not None for problem, service in services)
    assert plain / len(services) > 0.8
    assert all(pytest_command(service) is not None for _, service in services)

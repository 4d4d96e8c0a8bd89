"""Hostile answers: none passes that should not, none gets out, and the next job is graded correctly.

Each directory of `attacks/` is one test on each grading path; `attacks/README.md` describes its files.
"""

import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rtl_agent.grading import PRESETS, Grade, Grader, Outcome, Submission, submit
from rtl_agent.grading.extract import extract
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem
from rtl_agent.sandbox import MIB, Box, BoxSpec, Ended, Limits, make_sandbox
from rtl_agent.toolchain import find_toolchain
from tests.grading.cases import cases_of_kind, problem_for, read_expect, text_of

PATHS = (SimulationMode.EXACT, SimulationMode.FAST)
FOLDER = Path(__file__).parents[2] / "attacks"
ORDINARY = 60  # seconds for a service, where an attack asks for no less
CANARY_WORD = "the-canary-sings"
MARK = "RTL_ATTACK_OF"  # in the environment of an agent's shell, so that what it leaves running can be found

in_one_loop = pytest.mark.asyncio(loop_scope="module")


def of_kind(kind: str) -> list[Any]:
    return cases_of_kind(FOLDER, kind)


@pytest.fixture(autouse=True)
def known_holes_fail(request: pytest.FixtureRequest) -> None:
    """Until they are closed; the fast path may have closed one by how it works."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if "known_hole" in params.get("expect", {}):
        strict = params.get("path", SimulationMode.EXACT) is SimulationMode.EXACT
        request.applymarker(pytest.mark.xfail(reason=params["expect"]["known_hole"], strict=strict))


class Graders:
    """A grader for each path and time limit, shared by a worker: what one attack breaks, the next one meets."""

    def __init__(self) -> None:
        self._graders: dict[tuple[SimulationMode, float, str], Grader] = {}

    def get(self, path: SimulationMode, seconds: float, preset: str = "staged") -> Grader:
        key = (path, seconds, preset)
        if key not in self._graders:
            self._graders[key] = Grader(jobs=1, timeout_seconds=seconds, path=path, weights=PRESETS[preset])
        return self._graders[key]

    async def close(self, reference_of: Problem) -> None:
        try:
            for grader in self._graders.values():
                await expect_good_grade(grader, reference_of)
        finally:
            for grader in self._graders.values():
                await grader.__aexit__(None, None, None)


async def expect_good_grade(grader: Grader, problem: Problem) -> None:
    """The next job: a right design passes."""
    assert problem.reference is not None
    grade = await grader.grade(problem, submit(problem, problem.reference))
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def graders(bundled: dict[str, Problem]) -> AsyncIterator[Graders]:
    others = children()  # what other modules' tests share, and the grader of the whole process
    shared = Graders()
    yield shared
    await shared.close(bundled["rtl_fixed_priority_arbiter_0001"])
    # A model server that other tests of this process share is no grader's.
    left = [command for command in descendants(os.getpid(), others) if "rtl_agent.backends.server" not in command]
    assert not left, "processes are left when every grader is closed"


@pytest.fixture(scope="module")
def canary() -> Iterator[Path]:
    """A file of the host that everybody may read and write, where an attack that gets out would find it."""
    folder = Path("/tmp") / f"rtl-agent-canary-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o777)
    file = folder / "secret"
    file.write_text(f"{CANARY_WORD}\n")
    file.chmod(0o666)
    yield file
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def host_is_unchanged(canary: Path) -> Iterator[None]:
    before = host_state(canary)
    yield
    assert host_state(canary) == before


def host_state(canary: Path) -> dict[str, Any]:
    """What an escape would have changed. Attacks put `rtl_attack` into every name that they make up."""
    files = (Path("/etc/passwd"), Path("/etc/hosts"), Path("/dev/null"), Path("/usr/bin"), Path("/root"))
    state: dict[str, Any] = {str(path): _identity(path) for path in files}
    state["canary"] = canary.read_text(), canary.stat().st_mode, sorted(path.name for path in canary.parent.iterdir())
    places = (Path("/"), Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"), Path("/usr/bin"), Path.cwd(), FOLDER)
    state["made up"] = sorted(str(path) for place in places for path in place.glob("*rtl_attack*"))
    return state


def _identity(path: Path) -> tuple[int, ...]:
    found = path.stat()
    is_file = path.is_file()
    return (found.st_mode, found.st_uid, found.st_size if is_file else 0, found.st_mtime_ns if is_file else 0)


def children() -> frozenset[int]:
    return frozenset(int(pid) for task in Path("/proc/self/task").iterdir() for pid in _read(task / "children").split())


def descendants(pid: int, others: frozenset[int] = frozenset()) -> list[str]:
    """Command lines of all processes below this one, `others`, those of `multiprocessing` and xdist left out."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            below.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: list[str] = []
    wanted = [pid]
    while wanted:
        for child in set(below.get(wanted.pop(), [])) - others:
            wanted.append(child)
            found.append(_read(Path(f"/proc/{child}/cmdline")).replace("\0", " "))
    return [line for line in found if line and "resource_tracker" not in line]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def check_grade(grade: Grade, expect: Mapping[str, Any]) -> None:
    said = (grade.reasons, [(test.name, test.passed, test.message) for test in grade.tests], grade.log)
    assert grade.outcome == expect["outcome"], said
    assert grade.reasons or grade.outcome is Outcome.PASSED
    if grade.outcome is not Outcome.PASSED:
        assert grade.reward.total < grade.reward.maximum or grade.reward.maximum == 0, grade.reward
    exact = grade.path == SimulationMode.EXACT  # the fast path runs no final blocks, and dumps nothing
    if exact and expect.get("fools_pytest"):  # or the attack would be no attack
        assert [test for test in grade.tests if not test.item], said
        assert all(test.passed for test in grade.tests if not test.item), said
    shown = "\n".join([*grade.reasons, *(test.message or "" for test in grade.tests), *map(str, grade.diagnostics)])
    for word in expect.get("log_must_have", ()):  # or the attack did not even start
        assert word in grade.log, said
    for word in expect.get("said_must_have", ()) if exact else ():
        assert word in shown, said
    for word in (CANARY_WORD, *expect.get("log_must_not_have", ())):
        assert word not in grade.log, said
        assert word not in shown, said
    for word in expect.get("said_must_not_have", ()):
        assert word not in shown, said
    Grade.from_json(grade.to_json())
    str(grade.to_json()).encode()  # a lone surrogate would break every file that a grade is written to


def on_each_path() -> list[Any]:
    """A parameter for each hostile design and path; some are slow on the exact one: `make test-all` runs those."""
    found = []
    for case in of_kind("design"):
        for path in PATHS:
            slow = case.values[1].get("exact_is_slow") and path is SimulationMode.EXACT
            marks = [pytest.mark.slow] if slow else case.marks
            found.append(pytest.param(*case.values, path, id=f"{case.id}-{path}", marks=marks))
    return found


@in_one_loop
@pytest.mark.parametrize(("attack", "expect", "path"), on_each_path())
async def test_an_attack_gains_nothing(
    attack: Path,
    expect: dict[str, Any],
    path: SimulationMode,
    bundled: dict[str, Problem],
    canary: Path,
    graders: Graders,
) -> None:
    problem = problem_for(expect, bundled)
    seconds = expect.get("timeout", ORDINARY)
    grader = graders.get(path, seconds, "dense" if "dense_at_most" in expect else "staged")
    design = text_of(attack, expect, "design.sv", canary)
    for text in (design, f"{design}// again\n") if expect.get("twice") else (design,):
        grade = await grader.grade(problem, submit(problem, {problem.targets[0]: text}))
        check_grade(grade, expect)
        if "dense_at_most" in expect:
            assert grade.reward.parts["tests"] <= expect["dense_at_most"], grade.progress
    if seconds < ORDINARY or expect.get("next_job"):  # it hangs, floods or fills: look at the job right after it
        await expect_good_grade(grader, problem_for(expect, bundled))


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("attack", "expect"), of_kind("reply"))
async def test_a_hostile_reply_gains_nothing(
    attack: Path,
    expect: dict[str, Any],
    path: SimulationMode,
    bundled: dict[str, Problem],
    canary: Path,
    graders: Graders,
) -> None:
    """Extraction happens in the grader's own process: it must not raise, nor take long."""
    problem = problem_for(expect, bundled)
    text = text_of(attack, expect, "reply.txt", canary)
    started = time.thread_time()
    extract(problem, text)
    assert time.thread_time() - started < 2  # of CPU, whatever else the machine does: 0.2 at most
    grade = await graders.get(path, ORDINARY).grade_reply(problem, text)
    check_grade(grade, expect)


@in_one_loop
@pytest.mark.parametrize(("attack", "expect"), of_kind("shell"))
async def test_a_hostile_shell_gains_nothing(
    attack: Path, expect: dict[str, Any], bundled: dict[str, Problem], canary: Path, graders: Graders
) -> None:
    """What an agent's shell can do in its box: it ends as a result, the box goes on, and only targets are taken out."""
    problem = problem_for(expect, bundled)
    tools = find_toolchain()
    cocotb_version = problem.harness.cocotb_version
    spec = BoxSpec(
        mounts=tools.mounts(cocotb_version),
        links=tools.links(),
        ipc=True,
        disk_bytes=32 * MIB,
        memory_bytes=512 * MIB,
        processes=64,
    )
    mark = f"{attack.name}-{os.getpid()}"
    env = {**tools.env(cocotb_version), "HOME": "/code", MARK: mark}
    limits = Limits(wall_seconds=expect.get("timeout", 20), cpu_seconds=10, output_bytes=4 * MIB, keep_bytes=MIB)
    sandbox = make_sandbox(1)
    async with sandbox.open(spec) as box:
        for name, text in problem.context.items():
            await box.write(f"/code/{name}", text.encode())
        await box.write("/code/agent.sh", text_of(attack, expect, "agent.sh", canary).encode())
        result = await box.run(["bash", "/code/agent.sh"], env=env, cwd="/code", limits=limits)
        said = (result.stdout + result.stderr).decode(errors="replace")
        assert result.ended in [Ended(word) for word in expect.get("ended", ["exited"])], result
        for word in expect.get("log_must_have", ()):
            assert word in said, said
        for word in (CANARY_WORD, *expect.get("log_must_not_have", ())):
            assert word not in said, said
        after = await box.run(["bash", "-c", "echo still here"], env=env, cwd="/", limits=limits)
        assert after.stdout == b"still here\n", after
        assert not marked(mark), "a process of the last command is left"
        submission = await take_out(box, problem)
    assert not marked(mark)
    grader = graders.get(PATHS[0], ORDINARY)
    check_grade(await grader.grade(problem, submission), {**expect, "log_must_have": ()})


def marked(mark: str) -> list[str]:
    """Processes that still carry the mark of an attack in their environment."""
    word = f"{MARK}={mark}"
    return [str(entry.parent) for entry in Path("/proc").glob("[0-9]*/environ") if word in _read(entry).split("\0")]


async def take_out(box: Box, problem: Problem) -> Submission:
    """The targets that an agent left: regular files through `Box.read`, which follows no link."""
    files: dict[str, str] = {}
    for target in problem.targets:
        try:
            files[target] = (await box.read(f"/code/{target}", max_bytes=MIB)).decode(errors="replace")
        except (FileNotFoundError, ValueError):
            continue
    return submit(problem, files, whole=True)


@pytest.mark.parametrize(("attack", "expect"), [p for p in of_kind("design") if p.values[1].get("unboxed_prints")])
def test_an_attack_has_teeth(attack: Path, expect: dict[str, Any], canary: Path, tmp_path: Path) -> None:
    """The same design outside of a box reads and writes what it wants; only harmless ones say `unboxed_prints`."""
    design = text_of(attack, expect, "design.sv", canary)
    (tmp_path / "design.sv").write_text(design)
    command = "iverilog -g2012 -o design.vvp design.sv && timeout 10 vvp -n design.vvp"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    canary.write_text(f"{CANARY_WORD}\n")
    said = (ran.stdout + ran.stderr).decode(errors="replace")
    for word in expect["unboxed_prints"]:
        assert word in said, said


def test_every_directory_says_what_it_is() -> None:
    for attack in FOLDER.iterdir():
        if attack.is_dir():
            expect = read_expect(attack)
            assert expect["why"].endswith("."), attack.name
            assert expect["outcome"] in [outcome.value for outcome in Outcome]
            assert expect["outcome"] != Outcome.ERROR, "an attack must not look like a fault of ours"

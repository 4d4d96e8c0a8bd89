"""Grades and workspaces in containers: the same outcomes as in bubblewrap, on our own tools and on an image's."""

import asyncio
from collections.abc import Iterator

import pytest

from rtl_agent.envs.agentic.workspace import Workshop, Workspace
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.problems import Kind, NearMiss, Problem
from rtl_agent.sandbox import SandboxError, make_sandbox
from rtl_agent.toolchain import find_toolchain
from tests.sandbox.engines import engine
from tests.sandbox.images import make_image
from tests.sandbox.test_sandbox_containers import KINDS, none_left

pytestmark = pytest.mark.containers
ARBITER = "rtl_fixed_priority_arbiter_0001"
CHEAT = '  integer f; initial begin f = $fopen("/proc/self/mem", "r+"); if (f != 0) $display("memory"); $finish; end\n'


@pytest.fixture(scope="module", params=["docker", pytest.param("podman", marks=pytest.mark.slow)])
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    with engine(request.param) as variables, pytest.MonkeyPatch.context() as patch:
        for variable, value in {**variables, "RTL_AGENT_SANDBOX": request.param}.items():
            patch.setenv(variable, value)
        yield request.param


@pytest.mark.parametrize("path", [SimulationMode.EXACT, SimulationMode.FAST])
async def test_a_reference_passes(name: str, path: SimulationMode, bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    async with Grader(jobs=1, path=path) as grader:
        grade = await grader.grade(problem, submit(problem, problem.reference or {}))
    assert grade.outcome is Outcome.PASSED, grade.reasons
    assert grade.path == path
    assert await none_left(name)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [8, 16])
async def test_many_at_once_lose_no_grade_and_get_none_wrong(
    name: str, jobs: int, bundled: dict[str, Problem], near_misses: list[NearMiss]
) -> None:
    problem = bundled[ARBITER]
    right = [
        (submit(problem, {path: f"{text}// {n}\n" for path, text in (problem.reference or {}).items()}), True)
        for n in range(16)
    ]
    wrong = [(submit(problem, miss.files), False) for miss in near_misses if miss.problem_id == ARBITER]
    async with Grader(jobs=jobs, path=SimulationMode.FAST) as grader:
        grades = await asyncio.gather(*(grader.grade(problem, submission) for submission, _ in right + wrong))
    found = [(grade.outcome, grade.reasons) for grade in grades]
    wanted = [Outcome.PASSED if passes else Outcome.FAILED for _, passes in right + wrong]
    assert [outcome for outcome, _ in found] == wanted, found


@pytest.mark.slow
async def test_an_image_is_used_as_it_is(
    name: str, bundled: dict[str, Problem], near_misses: list[NearMiss], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = bundled[ARBITER]
    image = make_image(KINDS[name].kind)
    monkeypatch.setenv("RTL_AGENT_OSS_SIM_IMAGE", image)
    reference = (problem.reference or {})[problem.targets[0]]
    cheat = reference.replace("endmodule", f"{CHEAT}endmodule")
    wrong = next(miss for miss in near_misses if miss.problem_id == ARBITER)
    async with Grader(jobs=2) as grader:
        right, bad, cheating = await asyncio.gather(
            grader.grade(problem, submit(problem, {problem.targets[0]: reference})),
            grader.grade(problem, submit(problem, wrong.files)),
            grader.grade(problem, submit(problem, {problem.targets[0]: cheat})),
        )
    assert right.outcome is Outcome.PASSED, (right.reasons, right.log)
    assert right.path == "exact"
    assert "image" in right.path_reason
    assert right.tools["image"].startswith(f"{image} sha256:")
    assert "yosys is missing in the image" in right.tools["fallback"]
    assert bad.outcome is Outcome.FAILED, bad.reasons
    assert cheating.outcome is Outcome.FAILED
    assert "memory" not in cheating.log
    assert await none_left(name)


async def test_an_image_needs_a_container(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_SANDBOX", "bubblewrap")
    monkeypatch.setenv("RTL_AGENT_OSS_SIM_IMAGE", "some/image:1")
    with pytest.raises(SandboxError, match="sandbox=docker or sandbox=podman"):
        Grader(jobs=1)


async def test_an_agents_workspace_lives_in_a_container(name: str, bundled: dict[str, Problem]) -> None:
    problem = next(problem for problem in bundled.values() if problem.kind is Kind.AGENTIC)
    workspace = Workspace(
        Workshop(make_sandbox(1), find_toolchain()), problem, EpisodeConfig(kind="agentic", level="own-tests")
    )
    done = await workspace.run(
        ["sh", "-c", f"echo '// mine' >> {problem.targets[0]} && iverilog -V | head -n 1; ls /src"]
    )
    assert b"Icarus Verilog version" in done.stdout
    taken = await workspace.take_out()
    await workspace.close()
    assert taken.files[problem.targets[0]].endswith("// mine\n")
    assert await none_left(name)

"""Every bundled problem earns its place: its reference passes, and everything that is not what was asked fails."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.grading import Grade, Grader, Outcome, SimulationMode, StageName, submit
from rtl_agent.problems import Kind, NearMiss, Problem, load_near_misses, load_problems
from tests.grading.designs import NOTHING, constant

in_one_loop = pytest.mark.asyncio(loop_scope="module")  # warm boxes stay warm from test to test

PROBLEMS = {problem.id: problem for problem in load_problems("bundled")}
NEAR_MISSES = load_near_misses()


async def on_both_paths(graders: Mapping[SimulationMode, Grader], problem: Problem, files: Mapping[str, str]) -> Grade:
    """The grade, after both paths gave the same one: outcome, stages, and every test with its message."""
    submission = submit(problem, files)
    assert submission.refused == ()
    exact = await graders[SimulationMode.EXACT].grade(problem, submission, as_given=True)
    fast = await graders[SimulationMode.FAST].grade(problem, submission, as_given=True)
    assert (exact.path, fast.path) == ("exact", "fast")
    assert fast.outcome == exact.outcome, (exact.reasons, fast.reasons, fast.log)
    assert fast.tests == exact.tests
    assert fast.reasons == exact.reasons
    assert fast.reward == exact.reward
    assert [(stage.name, stage.passed) for stage in fast.stages] == [
        (stage.name, stage.passed) for stage in exact.stages
    ]
    return fast


def test_the_set_is_as_wide_as_promised() -> None:
    assert len(PROBLEMS) >= 16
    assert len({problem.family for problem in PROBLEMS.values()}) >= 12
    assert {problem.difficulty for problem in PROBLEMS.values()} == {"easy", "medium", "hard"}
    assert {problem.kind for problem in PROBLEMS.values()} == set(Kind)
    for problem in PROBLEMS.values():
        assert sum(miss.problem_id == problem.id for miss in NEAR_MISSES) >= 5
        if problem.kind is Kind.AGENTIC:
            assert any(path.startswith("docs/") for path in problem.context)


def test_the_packed_files_are_what_the_directories_say() -> None:
    script = Path(__file__).parents[2] / "scripts" / "pack_bundled.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@in_one_loop
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
async def test_the_reference_passes(problem: Problem, graders: Mapping[SimulationMode, Grader]) -> None:
    assert problem.reference is not None
    grade = await on_both_paths(graders, problem, problem.reference)
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)
    assert grade.reward.total == 1.4
    assert grade.stage(StageName.INTERFACE).passed is not False, grade.stage(StageName.INTERFACE).notes
    cocotb_tests = {test.name for test in grade.tests if test.item}
    assert len(cocotb_tests) >= 3
    assert all(test.passed for test in grade.tests)


def trials_of(problem: Problem) -> dict[str, dict[str, str]]:
    return {
        "zeros": constant(problem, "'0"),
        "ones": constant(problem, "'1"),
        "nothing": dict.fromkeys(problem.targets, NOTHING),
        **({"given": dict(problem.given)} if problem.given else {}),
    }


@in_one_loop
@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["fast", "both-paths"])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
async def test_nothing_constants_and_the_given_files_fail(
    problem: Problem, both: bool, graders: Mapping[SimulationMode, Grader]
) -> None:
    """On the exact path `make test` tries zeros only: each trial takes it a second."""
    for name, files in trials_of(problem).items():
        if both or name == "zeros":
            grade = await on_both_paths(graders, problem, files)
        else:
            grade = await graders[SimulationMode.FAST].grade(problem, submit(problem, files), as_given=True)
        assert grade.outcome is Outcome.FAILED, (name, grade.outcome, grade.reasons)
        if name in ("zeros", "ones"):
            assert grade.stage(StageName.SYNTAX).passed, (name, grade.diagnostics)


@in_one_loop
@pytest.mark.parametrize("miss", NEAR_MISSES, ids=lambda miss: f"{miss.problem_id}-{miss.name}")
async def test_a_near_miss_compiles_and_fails(miss: NearMiss, graders: Mapping[SimulationMode, Grader]) -> None:
    problem = PROBLEMS[miss.problem_id]
    submission = submit(problem, miss.files)
    assert submission.refused == ()
    grade = await graders[SimulationMode.FAST].grade(problem, submission)
    assert grade.outcome is Outcome.FAILED, (miss.wrong, grade.outcome, grade.reasons)
    assert grade.reasons
    assert 0.1 <= grade.reward.total <= 0.4


def every_fifth_now(misses: list[NearMiss]) -> list[Any]:
    """The exact path takes a second for each: `make test` compares a fifth of them, `make test-all` all."""
    return [
        pytest.param(miss, id=f"{miss.problem_id}-{miss.name}", marks=[pytest.mark.slow] if index % 5 else [])
        for index, miss in enumerate(misses)
    ]


@in_one_loop
@pytest.mark.parametrize("miss", every_fifth_now(NEAR_MISSES))
async def test_a_near_miss_gets_the_same_grade_on_both_paths(
    miss: NearMiss, graders: Mapping[SimulationMode, Grader]
) -> None:
    await on_both_paths(graders, PROBLEMS[miss.problem_id], miss.files)

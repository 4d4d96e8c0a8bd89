"""Every bundled problem earns its place: its reference passes, and everything that is not what was asked fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from rtl_agent.grading import Grader, Outcome, StageName, submit
from rtl_agent.problems import Kind, NearMiss, Problem, load_near_misses, load_problems
from tests.grading.designs import NOTHING, constant

PROBLEMS = {problem.id: problem for problem in load_problems("bundled")}
NEAR_MISSES = load_near_misses()


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


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
async def test_the_reference_passes(problem: Problem, grader: Grader) -> None:
    assert problem.reference is not None
    grade = await grader.grade(problem, submit(problem, problem.reference))
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)
    assert grade.reward.total == 1.4
    assert grade.stage(StageName.INTERFACE).passed is not False, grade.stage(StageName.INTERFACE).notes
    cocotb_tests = {test.name for test in grade.tests if test.item}
    assert len(cocotb_tests) >= 3
    assert all(test.passed for test in grade.tests)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
async def test_nothing_constants_and_the_given_files_fail(problem: Problem, grader: Grader) -> None:
    trials = {
        "nothing": dict.fromkeys(problem.targets, NOTHING),
        "zeros": constant(problem, "'0"),
        "ones": constant(problem, "'1"),
        **({"given": problem.given} if problem.given else {}),
    }
    for name, files in trials.items():
        grade = await grader.grade(problem, submit(problem, files), as_given=True)
        assert grade.outcome is Outcome.FAILED, (name, grade.outcome, grade.reasons)
        if name in ("zeros", "ones"):
            assert grade.stage(StageName.SYNTAX).passed, (name, grade.diagnostics)


@pytest.mark.parametrize("miss", NEAR_MISSES, ids=lambda miss: f"{miss.problem_id}-{miss.name}")
async def test_a_near_miss_compiles_and_fails(miss: NearMiss, grader: Grader) -> None:
    problem = PROBLEMS[miss.problem_id]
    submission = submit(problem, miss.files)
    assert submission.refused == ()
    grade = await grader.grade(problem, submission)
    assert grade.outcome is Outcome.FAILED, (miss.wrong, grade.outcome, grade.reasons)
    assert grade.reasons
    assert 0.1 <= grade.reward.total <= 0.4

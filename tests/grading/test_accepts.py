"""Right but unusual answers: each passes with the full reward, and both grading paths say the same of it.

Each directory of `accepts/` is one test; `accepts/README.md` describes its files.
"""

import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rtl_agent.grading import Grade, GradeCache, Grader, Outcome, submit
from rtl_agent.grading.extract import extract
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem
from rtl_agent.problems.cocotb_version import cocotb_version_of
from tests.grading.cases import cases_of_kind, problem_for, read_expect, text_of

FOLDER = Path(__file__).parents[2] / "accepts"
KINDS = ("design", "reply", "files")

in_one_loop = pytest.mark.asyncio(loop_scope="module")  # warm boxes stay warm from case to case


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def graders(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[SimulationMode, Grader]]:
    """With a cache that all workers share: 57 forms of replies hold 13 different answers, each is simulated once."""
    place = tmp_path_factory.getbasetemp().parent / "accepts" if "PYTEST_XDIST_WORKER" in os.environ else None
    with GradeCache(place or tmp_path_factory.mktemp("accepts") / "grades") as cache:
        async with (
            Grader(jobs=2, path=SimulationMode.EXACT, cache=cache) as exact,
            Grader(jobs=2, path=SimulationMode.FAST, cache=cache) as fast,
        ):
            yield {SimulationMode.EXACT: exact, SimulationMode.FAST: fast}


async def graded(grader: Grader, problem: Problem, case: Path, expect: Mapping[str, Any]) -> Grade:
    kind = expect.get("kind", "design")
    if kind == "reply":
        reply = text_of(case, expect, "reply.txt")
        if "extraction" in expect:
            return await grader.grade(problem, extract(problem, reply, expect["extraction"]))
        return await grader.grade_reply(problem, reply)
    if kind == "files":
        files = {target: text_of(case, expect, f"files/{target}") for target in targets_in(case)}
        assert set(files) <= set(problem.targets), sorted(files)
    else:
        files = {problem.targets[0]: text_of(case, expect, "design.sv")}
    return await grader.grade(problem, submit(problem, files))


def targets_in(case: Path) -> list[str]:
    folder = case / "files"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def check(grade: Grade) -> None:
    said = (grade.reasons, [(test.name, test.passed, test.message) for test in grade.tests], grade.log)
    assert grade.outcome is Outcome.PASSED, said
    assert grade.reward.total == grade.reward.maximum > 0, (grade.reward, grade.stages)
    assert grade.tests, said


def on_one_path_or_both() -> list[Any]:
    """A parameter for each case; where the exact path is slow, one for both paths in `make test-all` as well."""
    found = []
    for case in (case for kind in KINDS for case in cases_of_kind(FOLDER, kind)):
        slow = case.values[1].get("exact_is_slow", False)
        found.append(pytest.param(*case.values, not slow, id=case.id, marks=case.marks))
        if slow:
            found.append(pytest.param(*case.values, True, id=f"{case.id}-both-paths", marks=pytest.mark.slow))
    return found


@in_one_loop
@pytest.mark.parametrize(("case", "expect", "both"), on_one_path_or_both())
async def test_a_right_answer_passes(
    case: Path,
    expect: dict[str, Any],
    both: bool,
    bundled: dict[str, Problem],
    graders: Mapping[SimulationMode, Grader],
) -> None:
    problem = problem_for(expect, bundled)
    if "cocotb_version" in expect:  # what the case changed in the harness asks for it
        assert cocotb_version_of(problem.harness.files) == expect["cocotb_version"]
    fast = await graded(graders[SimulationMode.FAST], problem, case, expect)
    check(fast)
    assert fast.path == "fast" or fast.path_reason, "the fast path was left without a reason"
    if not both:
        return
    exact = await graded(graders[SimulationMode.EXACT], problem, case, expect)
    check(exact)
    assert fast.tests == exact.tests  # names, verdicts, messages and simulation times
    assert fast.reward == exact.reward
    assert [(stage.name, stage.passed) for stage in fast.stages] == [
        (stage.name, stage.passed) for stage in exact.stages
    ]


def test_every_directory_says_what_it_guards_against() -> None:
    for case in FOLDER.iterdir():
        if case.is_dir():
            expect = read_expect(case)
            assert expect["why"].endswith("."), case.name
            assert expect.get("kind", "design") in KINDS, case.name

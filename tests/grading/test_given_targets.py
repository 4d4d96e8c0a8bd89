"""A target that was given and that an answer leaves out stays as it was given; one that an agent deleted is gone."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.grading import Grade, Grader, Outcome, Submission, extract, submit, submit_directory
from rtl_agent.grading.reward import STAGED
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Needs, Problem, load_problems

PATHS = (SimulationMode.EXACT, SimulationMode.FAST)
MASTER, SHIFT = "rtl/spi_master.sv", "rtl/spi_shift.sv"


@pytest.fixture
def half_given(bundled: dict[str, Problem]) -> Problem:
    """The SPI master, its shift register given and right: only the control is asked for in truth."""
    problem = bundled["rtl_spi_master_0001"]
    assert problem.reference is not None
    assert set(problem.targets) == {MASTER, SHIFT}
    return replace(problem, context={**problem.context, SHIFT: problem.reference[SHIFT]})


def as_json(problem: Problem, text: str) -> Submission:
    return extract(problem, json.dumps({"code": [{MASTER: text}]}))


def as_a_block(problem: Problem, text: str) -> Submission:
    return extract(problem, f"```systemverilog\n{text}```\n")


def as_files(problem: Problem, text: str) -> Submission:
    return submit(problem, {MASTER: text})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("answer", [as_json, as_a_block, as_files])
async def test_what_is_left_out_stays(
    half_given: Problem, answer: Callable[[Problem, str], Submission], path: SimulationMode
) -> None:
    assert half_given.reference is not None
    submission = answer(half_given, half_given.reference[MASTER])
    assert submission.files == dict(half_given.reference)
    async with Grader(jobs=1, path=path) as grader:
        grade = await grader.grade(half_given, submission)
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)


async def test_a_folder_needs_only_what_was_changed(half_given: Problem, tmp_path: Path) -> None:
    assert half_given.reference is not None
    (tmp_path / "rtl").mkdir()
    (tmp_path / MASTER).write_text(half_given.reference[MASTER])
    submission = submit_directory(half_given, tmp_path)
    assert submission.files == dict(half_given.reference)
    (tmp_path / MASTER).unlink()
    assert submit_directory(half_given, tmp_path).unusable
    (tmp_path / SHIFT).symlink_to("/etc/passwd")
    (tmp_path / MASTER).write_text(half_given.reference[MASTER])
    assert SHIFT not in submit_directory(half_given, tmp_path).files  # something was put in its place


@pytest.mark.parametrize("path", PATHS)
async def test_a_target_that_an_agent_deleted_is_gone(half_given: Problem, path: SimulationMode) -> None:
    """As in CVDP's agentic flow: the state of the workspace is what counts."""
    assert half_given.reference is not None
    left = submit(half_given, {MASTER: half_given.reference[MASTER]}, whole=True)
    assert set(left.files) == {MASTER}
    assert left.changes(half_given)
    async with Grader(jobs=1, path=path) as grader:
        grade = await grader.grade(half_given, left)
    assert grade.outcome is Outcome.FAILED
    assert SHIFT.rpartition("/")[2].removesuffix(".sv") in " ".join((*grade.reasons, grade.log))


def test_only_given_files_back_is_still_no_answer(half_given: Problem) -> None:
    back = submit(half_given, half_given.given)
    assert not back.changes(half_given)
    assert submit(half_given, {"src/conftest.py": "x"}).files == {}
    assert submit(half_given, {}).unusable == "there is no file"


def test_a_refused_target_is_not_replaced_by_the_given_one(half_given: Problem) -> None:
    """Grading the given text instead of what was written would judge an answer that nobody gave."""
    assert half_given.reference is not None
    offered = {MASTER: half_given.reference[MASTER], SHIFT: "x" * (1024 * 1024 + 1)}
    found = submit(half_given, offered)
    assert set(found.files) == {MASTER}
    assert "larger than" in found.refused[0]


def partly_given(cvdp: Path) -> list[tuple[Problem, Submission]]:
    """Development problems with several targets of which some are given, each with an answer that touches one of them:
    one that was not given where there is one."""
    found: list[tuple[Problem, Submission]] = []
    for problem in load_problems(str(cvdp), skip_bad=True):
        if problem.needs is Needs.OPEN_TOOLS and problem.given and len(problem.targets) > 1:
            touched = next((target for target in problem.targets if target not in problem.given), problem.targets[0])
            text = problem.context.get(touched, f"module {Path(touched).stem};\nendmodule\n") + "// touched\n"
            submission = submit(problem, {touched: text})
            assert set(submission.files) == {touched, *problem.given}
            assert extract(problem, json.dumps({"code": [{touched: text}]})).files == submission.files
            found.append((problem, submission))
    assert len(found) == 14
    return found


def check_nothing_is_missing(problem: Problem, grade: Grade) -> None:
    assert grade.outcome in (Outcome.PASSED, Outcome.FAILED), (problem.id, grade.reasons)
    said = " ".join((*grade.reasons, grade.log, *(found.text for found in grade.diagnostics)))
    for given in problem.given:
        assert f"{Path(given).name}: No such file" not in said, problem.id


@pytest.mark.cvdp
async def test_given_targets_of_cvdp_are_compiled(cvdp: Path) -> None:
    async with Grader(jobs=1, weights=replace(STAGED, tests=0.0)) as grader:
        for problem, submission in partly_given(cvdp):
            check_nothing_is_missing(problem, await grader.grade(problem, submission))


@pytest.mark.slow
@pytest.mark.cvdp
@pytest.mark.parametrize("path", PATHS)
async def test_given_targets_of_cvdp_are_simulated(cvdp: Path, path: SimulationMode) -> None:
    async with Grader(jobs=1, path=path, timeout_seconds=20) as grader:
        for problem, submission in partly_given(cvdp):
            check_nothing_is_missing(problem, await grader.grade(problem, submission))

"""One answer by hand: kept and run again, some of its tests alone, and what the tools printed."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.answers import GradingJob
from rtl_agent.cli.grade_view import print_grade, print_output
from rtl_agent.cli.keep import NotKept, keep, read_kept
from rtl_agent.cli.main import app
from rtl_agent.cli.new_workspace import CannotWrite, write_files
from rtl_agent.cli.rerun import failed_items
from rtl_agent.grading import Grade, GradeCache, Grader, Outcome, Stage, StageName, TestResult, submit
from rtl_agent.grading.partial import as_regex
from rtl_agent.grading.services import kept_log
from rtl_agent.problems import NearMiss, Problem, load_near_misses
from rtl_agent.sandbox import CommandResult, Ended

from .test_cli import ARBITER, answers, rtl_agent

MOD_COUNTER, DEBOUNCER, POPCOUNT = "rtl_mod_counter_0001", "rtl_debouncer_0001", "rtl_popcount_0001"


def near_miss(problem: str, name: str) -> NearMiss:
    return next(miss for miss in load_near_misses() if (miss.problem_id, miss.name) == (problem, name))


def run_sh(folder: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder / "run.sh", *arguments], capture_output=True, text=True, check=False, cwd=cwd)


def of_failed_items(grade: Mapping[str, Any]) -> list[dict[str, Any]]:
    failed = {test["name"] for test in grade["tests"] if not test["item"] and test["passed"] is False}
    return [test for test in grade["tests"] if (test["item"] or test["name"]) in failed]


KEPT = {  # cocotb 2; cocotb 1.9 with a simulation for each set of parameters; lint; synthesis
    ARBITER: "reversed_priority",
    MOD_COUNTER: "tc_ignores_load",
    DEBOUNCER: "blocking_assignment_left",
    POPCOUNT: "still_thermometer_halves",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wrong answer of each kind, graded once on the path that `grade` takes, and kept."""
    folder = tmp_path_factory.mktemp("kept")
    misses = [near_miss(problem, name) for problem, name in KEPT.items()]
    file = answers(folder, *({"id": miss.problem_id, "files": dict(miss.files)} for miss in misses))
    to = ("--keep", folder / "k", "--junit", folder / "junit.xml")
    done = rtl_agent("grade", "bundled", "--response", file, *to, "--jobs", "2", "--no-cache")
    assert done.returncode == 1, done.stderr
    assert "4 failed" in done.stdout
    assert (folder / "junit.xml").read_text().count("<testsuite ") == 4
    return {problem: folder / "k" / f"{problem}-{number}" for number, problem in enumerate(KEPT, 1)}


@pytest.mark.parametrize("problem", KEPT)
def test_what_failed_fails_again_in_the_same_way(kept: dict[str, Path], problem: str, tmp_path: Path) -> None:
    """The same tests, messages, times and seeds, whatever the current directory is."""
    graded = json.loads((kept[problem] / "grade.json").read_text())["grade"]
    again = run_sh(kept[problem], "--json", cwd=tmp_path)
    assert again.returncode == 1, again.stderr
    now = json.loads(again.stdout)
    assert now["tests"] == of_failed_items(graded) != []
    assert (now["seed"], now["tools"]) == (graded["seed"], graded["tools"])
    ran = {test["item"] or test["name"] for test in now["tests"]}
    assert [one for one in graded["simulations"] if one["item"] in ran] == [
        one for one in now["simulations"] if one["item"] in ran
    ]


def test_a_design_that_was_mended_passes_and_the_difference_is_said(
    kept: dict[str, Path], bundled: dict[str, Problem], tmp_path: Path
) -> None:
    reference = bundled[ARBITER].reference
    assert reference is not None
    ((path, text),) = reference.items()
    file = kept[ARBITER] / "code" / path
    before = file.read_text()
    try:
        file.write_text(text)
        again = run_sh(kept[ARBITER])
    finally:
        file.write_text(before)
    assert again.returncode == 0, again.stderr
    assert "lowest_request_wins: passed now, failed in the grade" in again.stdout
    assert f"not as it was graded: code/{path}" in again.stderr
    assert "some of its tests alone (those that failed before)" in again.stdout


def test_a_folder_that_was_not_kept_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotKept, match=r"has no grade\.json: name a folder that `grade --keep` wrote"):
        read_kept(tmp_path)


HOSTILE = "rtl/a b'\"$(touch owned)`touch owned`;#.sv"


def hostile_job(problem: Problem, text: str) -> GradingJob:
    """A data set whose names and contents want to be a shell's."""
    named = replace(
        problem,
        targets=(HOSTILE, "rtl/-rf.sv"),
        context={"docs/--help": "$(touch owned)", "docs/x.md": "\ud800 half"},
        prompt="'; touch owned; '",
    )
    return GradingJob(named, submit(named, {HOSTILE: text, "rtl/-rf.sv": text, "../../out.sv": text}), "x:1\n/../y")


def test_hostile_names_and_texts_stay_in_the_folder_and_out_of_the_script(
    bundled: dict[str, Problem], tmp_path: Path
) -> None:
    job = hostile_job(bundled[ARBITER], "'\n\"$(touch owned)\ud800")
    tests = (TestResult("$(touch owned)\n'", False, "'; touch owned"),)
    grade = Grade(job.problem.id, Outcome.INVALID, tests=tests, reasons=("\n$(touch owned)",))
    plain = Grade(job.problem.id, Outcome.INVALID)
    folder = tmp_path / "-a b'$(touch owned)\n"
    keep(folder, [job, job], [grade, plain], 120.0)
    assert sorted(child.name for child in folder.iterdir()) == ["x-1--..-y", "x-1--..-y-2"]
    assert [child.name for child in tmp_path.iterdir()] == [folder.name]
    one, other = ((folder / name / "run.sh").read_text() for name in ("x-1--..-y", "x-1--..-y-2"))
    assert one == other  # so nothing of an answer is in it
    assert "owned" not in one
    back = read_kept(folder / "x-1--..-y")
    assert set(back.submission.files) == {HOSTILE, "rtl/-rf.sv"}
    assert (back.changed, back.grade) == ((), grade)
    for target in job.problem.targets:
        (folder / "x-1--..-y" / "code" / target).write_text("\n")
    ended = run_sh(folder / "x-1--..-y", cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert "every file is empty" in ended.stdout
    assert not list(tmp_path.rglob("owned*"))


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "a\nb", "a\\b", ""])
def test_no_file_is_written_outside(tmp_path: Path, path: str) -> None:
    with pytest.raises(CannotWrite):
        write_files(tmp_path / "here", {path: "text"})
    assert not (tmp_path / "out").exists()


def test_no_link_is_followed_and_no_file_written_twice(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path)
    for files in ({"link/out": ""}, {"link": ""}, {"a": "", "a/b": ""}):
        with pytest.raises(CannotWrite):
            write_files(tmp_path / "here", files)
    assert not (tmp_path / "out").exists()


def test_the_folder_must_be_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    arguments = ["grade", "bundled", "--id", ARBITER, "--reference", "--keep", str(tmp_path)]
    caught = CliRunner().invoke(app, arguments).exception
    assert isinstance(caught, CannotWrite)
    assert "is not an empty directory; name one that is new or empty" in str(caught)


@pytest.mark.parametrize(("problem", "pattern"), [(ARBITER, "RESET"), (MOD_COUNTER, "width*3"), (DEBOUNCER, "lint")])
async def test_each_test_that_is_asked_for_ends_as_in_the_full_grade(
    kept: dict[str, Path], problem: str, pattern: str
) -> None:
    """By a part of the name, whatever came before in the same simulation, for an item in the middle of a harness."""
    one = read_kept(kept[problem])
    async with Grader(jobs=1) as grader:
        part = await grader.grade(one.problem, one.submission, only=(pattern,))
    items = [test for test in one.grade.tests if not test.item and pattern_in(pattern, test.name)]
    wanted = {test.name for test in items}
    meant = [
        test
        for test in one.grade.tests
        if ((test.item or test.name) in wanted if items else test.item and pattern_in(pattern, test.name))
    ]
    assert part.tests == tuple(meant)
    assert 0 < len(meant) < len(one.grade.tests)
    assert (part.only, part.reward.maximum) == ((pattern,), 0)
    assert part.path_reason == "only some tests were asked for"


def pattern_in(pattern: str, name: str) -> bool:
    first, _, rest = pattern.lower().partition("*")
    return first in name.lower() and rest in name.lower().partition(first)[2]


async def test_a_partial_grade_is_never_a_cached_one(kept: dict[str, Path], tmp_path: Path) -> None:
    one = read_kept(kept[ARBITER])
    with GradeCache(tmp_path / "cache") as cache:
        async with Grader(jobs=1, cache=cache) as grader:
            passed = await grader.grade(one.problem, one.submission, only=("ports_have",))
            assert (passed.outcome, len(passed.tests)) == (Outcome.PASSED, 1)
            full = await grader.grade(one.problem, one.submission)
            assert (full.outcome, grader.stats.hits, full.only) == (Outcome.FAILED, 0, ())
            again = await grader.grade(one.problem, one.submission, only=("ports_have",))
            assert (again.outcome, again.cached) == (Outcome.PASSED, False)


def test_a_part_that_passes_says_that_it_is_no_pass(kept: dict[str, Path]) -> None:
    files = ("--id", ARBITER, "--files", kept[ARBITER] / "code")
    done = rtl_agent("grade", "bundled", *files, "-k", "ports_have", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "judged by some of its tests alone (-k ports_have), so without a reward" in done.stdout
    assert "this is no full grade, and exit code 0 no pass" in done.stderr
    assert "Running on Icarus Verilog" in done.stdout  # -v


def test_a_pattern_that_means_nothing_is_an_error_with_the_names(kept: dict[str, Path]) -> None:
    done = rtl_agent(
        "grade", "bundled", "--id", ARBITER, "--files", kept[ARBITER] / "code", "-k", "lowest_request_winz"
    )
    assert done.returncode == 2
    assert "no test has a name with 'lowest_request_winz' in it; there are:" in done.stderr
    assert "test_fixed_priority_arbiter.lowest_request_wins" in done.stderr


def test_failed_items_are_meant_by_their_whole_names() -> None:
    tests = (TestResult("a", False, item="x[1]"), TestResult("x[1]", False), TestResult("y", True))
    assert failed_items(Grade("p", Outcome.FAILED, tests=tests)) == ("=x[1]",)
    assert [bool(re.search(as_regex(("=x[1]",)), name)) for name in ("x[1]", "xx[1]", "X[1]")] == [True, False, False]
    assert [bool(re.search(as_regex(("X*1]",)), name)) for name in ("x[1]", "xx[1]", "x[12]")] == [True, True, False]


def test_what_tools_print_is_bounded_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    printed = b"\x1b[31mred\x1b[0m\x1b[2J\x1b]0;owned\x07" + b"x" * 10_000_000 + b"the end"
    done = CommandResult(Ended.EXITED, 0, printed, b"", False, 0.0, 0.0, 0)
    print_output(Grade("p", Outcome.FAILED, log=kept_log(done, whole=True)))
    shown = capsys.readouterr().out
    assert len(shown) < 70_000
    assert "red\\x1b[2J\\x1b]0;owned\\x07xxx" in shown
    assert shown.endswith("xxxthe end\n")
    assert "characters are left out" in shown


def test_a_partial_grade_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    grade = Grade("p", Outcome.PASSED, (Stage(StageName.TESTS, True),), only=("a b", "c"))
    print_grade(grade)
    assert "p: passed, judged by some of its tests alone (-k 'a b' -k c)" in capsys.readouterr().out
    assert Grade.from_json(json.loads(json.dumps(grade.to_json()))) == grade

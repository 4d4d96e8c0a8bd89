"""The cache of grades: found by content, whole after kill -9, shared by many processes, and never in the way."""

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.grading import (
    Extraction,
    Grade,
    Grader,
    Outcome,
    Stage,
    StageName,
    Submission,
    TestResult,
    parse_weights,
    submit,
)
from rtl_agent.grading.cache import GradeCache, default_cache_path
from rtl_agent.grading.cache_key import GradeKeys
from rtl_agent.grading.executors import GradeJob
from rtl_agent.grading.grader import GraderStats
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import CocotbVersion, Problem
from tests.grading.test_grader import INVERTER, WIRE, plain

STAGES = (
    Stage(StageName.FORMAT, True, 1.0),
    Stage(StageName.INTERFACE, True, 1.0),
    Stage(StageName.SYNTAX, True, 1.0),
    Stage(StageName.TESTS, False, 0.25, ("checks.inverts: a=0: y should be 1",)),
)
FAILED = Grade(
    "rtl_dut_0001",
    Outcome.FAILED,
    STAGES,
    (TestResult("checks.inverts", False, "half a pair: \udc80", 5.0),),
    reasons=("a=0: y should be 1",),
    timings={"total": 1.5},
    log="x" * 5000,
)
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from rtl_agent.grading import Grade, Outcome
from rtl_agent.grading.cache import GradeCache
name, count = sys.argv[2], int(sys.argv[3])
cache = GradeCache(Path(sys.argv[1]))
print("open", flush=True)
for number in range(count):
    cache.put(f"{name}-{number}", Grade(f"{name}-{number}", Outcome.PASSED, log="x" * 3000))
    print(number, flush=True)
"""


def writer(file: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Counting:
    """Says what it is told to, and counts how often it was asked."""

    def __init__(self, answer: Grade = FAILED) -> None:
        self.answer, self.asked = answer, 0

    async def fingerprint(self, cocotb_version: CocotbVersion) -> dict[str, str]:
        return {"iverilog": "12.0"}

    async def run(self, job: GradeJob) -> Grade:
        self.asked += 1
        await asyncio.sleep(0)
        return replace(self.answer, seed=job.seed)

    async def aclose(self) -> None:
        return None


def design(problem: Problem, text: str = INVERTER) -> Submission:
    return submit(problem, {"rtl/dut.sv": text})


def test_a_grade_comes_back_as_it_was_but_for_the_reward(tmp_path: Path) -> None:
    with GradeCache(tmp_path / "new" / "grades.sqlite") as cache:
        assert cache.get("key") is None
        cache.put("key", FAILED)
        assert cache.get("key") == replace(FAILED, cached=True)
    with GradeCache(tmp_path / "new" / "grades.sqlite") as cache:
        assert cache.get("key") == replace(FAILED, cached=True)


def test_errors_are_never_kept(tmp_path: Path) -> None:
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        cache.put("key", Grade("rtl_dut_0001", Outcome.ERROR))
        assert cache.get("key") is None


def test_no_path_keeps_nothing() -> None:
    cache = GradeCache(None)
    cache.put("key", FAILED)
    assert cache.get("key") is None


def test_it_stands_where_caches_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache_path() == Path("/somewhere/rtl-agent/grades.sqlite")


def test_kill_9_in_the_middle_of_writing_loses_no_row_that_was_written(tmp_path: Path) -> None:
    file = tmp_path / "grades.sqlite"
    for turn in range(5):
        process = writer(file, f"turn{turn}", 1_000_000)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(0.3 + 0.05 * turn)
        process.send_signal(signal.SIGKILL)
        written = [int(line) for line in process.communicate()[0].splitlines() if line]
        assert len(written) > 50
        with sqlite3.connect(file) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        with GradeCache(file) as cache:
            for number in written:
                kept = cache.get(f"turn{turn}-{number}")
                assert kept is not None
                assert kept.problem_id == f"turn{turn}-{number}"
    assert not list(tmp_path.glob("*aside*"))


def test_sixteen_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    """They also make the file at once: none may take another's new file for a foreign one."""
    file = tmp_path / "grades.sqlite"
    processes = [writer(file, f"writer{number}", 200) for number in range(16)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert said == ""
    with GradeCache(file) as cache:
        for number in range(16):
            assert all(cache.get(f"writer{number}-{row}") is not None for row in range(200))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grades.sqlite", "grades.sqlite.lock"]


@pytest.mark.parametrize("content", [b"no database at all, " * 500, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_corrupt_file_is_moved_aside(content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "grades.sqlite"
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING), GradeCache(file) as cache:
        cache.put("key", FAILED)
        assert cache.get("key") is not None
    aside = next(path for path in tmp_path.iterdir() if "aside" in path.name)
    assert aside.read_bytes() == content
    assert aside.name in caplog.text


def test_a_database_of_something_else_is_moved_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "grades.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE grades (name TEXT)")
    connection.close()
    with GradeCache(file) as cache:
        cache.put("key", FAILED)
        assert cache.get("key") is not None
    assert "not a cache of grades" in caplog.text


def test_damage_deep_inside_is_found_when_it_is_met(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "grades.sqlite"
    with GradeCache(file) as cache:
        for number in range(500):
            cache.put(f"key-{number:03}", replace(FAILED, log=os.urandom(3000).hex()))
    data = bytearray(file.read_bytes())
    data[3 * 4096 : -4096] = os.urandom(len(data) - 4 * 4096)
    file.write_bytes(data)
    with GradeCache(file) as cache:
        assert [cache.get(f"key-{number:03}") for number in range(0, 500, 50)].count(None) > 5
        cache.put("new", FAILED)
        assert cache.get("new") is not None
    assert "a new one is made" in caplog.text


def test_a_place_that_cannot_be_written_costs_only_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    cache = GradeCache(tmp_path / "file" / "grades.sqlite")
    cache.put("key", FAILED)
    assert cache.get("key") is None
    assert "no cache of grades" in caplog.text


def test_a_key_names_everything_that_can_change_a_grade_and_nothing_else() -> None:
    problem = plain()
    keys = GradeKeys(timeout_seconds=120.0, path=SimulationMode.AUTO)
    job = GradeJob(problem, design(problem), 1)
    tools = {"iverilog": "12.0", "rtl-agent": "1-abc"}
    key = keys.key(job, tools)
    service = problem.harness.services[0]
    harness = problem.harness
    changed = [
        replace(problem, id="rtl_dut_0002"),
        replace(problem, context={"rtl/other.sv": "// more\n"}),
        replace(problem, targets=("rtl/dut.sv", "rtl/other.sv")),
        replace(problem, harness=replace(harness, files={**harness.files, "src/more.py": ""})),
        replace(problem, harness=replace(harness, services=(service, service))),
        replace(problem, harness=replace(harness, services=(replace(service, env={}),))),
        replace(problem, harness=replace(harness, services=(replace(service, src_writable=True),))),
        replace(problem, harness=replace(harness, cocotb_version=CocotbVersion.V1)),
    ]
    others = [keys.key(replace(job, problem=other), tools) for other in changed]
    others += [
        keys.key(replace(job, seed=2), tools),
        keys.key(replace(job, simulate=False), tools),
        keys.key(replace(job, submission=design(problem, WIRE)), tools),
        keys.key(job, {**tools, "iverilog": "13.0"}),
        keys.key(job, {**tools, "rtl-agent": "2-abc"}),
        GradeKeys(timeout_seconds=60.0, path=SimulationMode.AUTO).key(job, tools),
        GradeKeys(timeout_seconds=120.0, path=SimulationMode.EXACT).key(job, tools),
    ]
    assert len({key, *others}) == len(others) + 1
    same = replace(problem, prompt="Reworded.", reference={}, source="elsewhere", difficulty="hard")
    assert keys.key(replace(job, problem=same), dict(reversed(tools.items()))) == key
    refused = replace(job.submission, refused=("'rtl/spare.sv' is not a file that this problem asks for",))
    assert keys.key(replace(job, submission=refused), tools) == key


async def test_a_second_grade_comes_from_the_cache_with_the_reward_of_its_own_weights(tmp_path: Path) -> None:
    problem, executor = plain(), Counting()
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        async with Grader(executor=executor, cache=cache) as grader:
            first = await grader.grade(problem, design(problem))
            second = await grader.grade(problem, design(problem))
            assert grader.stats == GraderStats(hits=1, misses=1)
        async with Grader(executor=executor, cache=cache, weights=parse_weights("graded")) as grader:
            third = await grader.grade(problem, design(problem))
            assert grader.stats == GraderStats(hits=1)
    assert executor.asked == 1
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False) == first
    assert (first.reward.total, first.reward.maximum) == (0.4, 1.4)
    assert third.reward.parts == {"format": 0.1, "interface": 0.2, "syntax": 0.3, "tests": 0.25}


async def test_what_was_not_simulated_is_not_taken_for_a_whole_grade(tmp_path: Path) -> None:
    problem, executor = plain(), Counting()
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        for weights in ("format=0.1,syntax=0.3", "staged", "format=0.1,syntax=0.3"):
            async with Grader(executor=executor, cache=cache, weights=parse_weights(weights)) as grader:
                await grader.grade(problem, design(problem))
    assert executor.asked == 2


async def test_an_error_is_tried_again_next_time(tmp_path: Path) -> None:
    problem, executor = plain(), Counting(Grade("rtl_dut_0001", Outcome.ERROR))
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        async with Grader(executor=executor, cache=cache) as grader:
            for _ in range(2):
                assert (await grader.grade(problem, design(problem))).outcome is Outcome.ERROR
    assert executor.asked == 2


async def test_what_was_refused_beside_the_files_is_said_to_its_own_caller(tmp_path: Path) -> None:
    problem = plain()
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        async with Grader(executor=Counting(), cache=cache) as grader:
            await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER, "rtl/spare.sv": ""}))
            graded = await grader.grade(problem, design(problem))
            again = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER, "rtl/other.sv": ""}))
    assert graded.stage(StageName.FORMAT).notes == ()
    assert "rtl/other.sv" in again.stage(StageName.FORMAT).notes[0]


async def test_how_a_reply_was_read_is_said_to_its_own_caller(tmp_path: Path) -> None:
    problem, reply = plain(), f"```verilog\n{INVERTER}```"
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        executor = Counting()
        for extraction in Extraction:
            async with Grader(executor=executor, cache=cache, extraction=extraction) as grader:
                assert (await grader.grade_reply(problem, reply)).extraction == extraction
                assert (await grader.grade_reply(problem, "")).extraction == extraction
                assert (await grader.grade(problem, design(problem))).extraction == ""
    assert executor.asked == 1  # the same files are judged once, however they were read


async def test_real_grades_are_the_same_from_the_cache(tmp_path: Path) -> None:
    problem = plain()
    with GradeCache(tmp_path / "grades.sqlite") as cache:
        async with Grader(jobs=1, cache=cache) as grader:
            made = [await grader.grade(problem, design(problem, text)) for text in (INVERTER, WIRE)]
        async with Grader(jobs=1, cache=cache) as grader:
            started = time.perf_counter()
            kept = [await grader.grade(problem, design(problem, text)) for text in (INVERTER, WIRE)]
            assert time.perf_counter() - started < 0.5
    assert [replace(grade, cached=False) for grade in kept] == made
    assert [grade.outcome for grade in kept] == [Outcome.PASSED, Outcome.FAILED]

"""A graded answer is simulated again with real tools: the same tests end the same way, and its waves are there.

Designs are hostile: whatever they do with $dumpfile and its kin, their names and their sizes, the waves are ours.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.grading import Grade, Outcome, Submission, SyncGrader, TestResult, dump, submit
from rtl_agent.grading.job import job_seed
from rtl_agent.problems import CocotbVersion, Problem, load_near_misses, load_problems
from rtl_agent.sandbox import make_sandbox
from rtl_agent.toolchain import find_toolchain
from rtl_agent.waves.job import CANDIDATE, WavesJob, chosen_test, make_waves
from rtl_agent.waves.simulate import NoWaves, WaveSimulator, service_named, unlike_grade
from rtl_agent.waves.vcd import changes, open_vcd

ARBITER = "rtl_fixed_priority_arbiter_0001"
LOWEST = "test_fixed_priority_arbiter.lowest_request_wins"


@pytest.fixture(scope="module")
def problems() -> Mapping[str, Problem]:
    return {problem.id: problem for problem in load_problems("bundled")}


@pytest.fixture(scope="module")
def simulator() -> WaveSimulator:
    return WaveSimulator(make_sandbox(1), find_toolchain(), timeout_seconds=60.0)


@pytest.fixture(scope="module")
def grader() -> Iterator[SyncGrader]:
    with SyncGrader(jobs=1, timeout_seconds=60.0) as grader:
        yield grader


def near_miss(problem: Problem, name: str) -> Submission:
    (miss,) = [miss for miss in load_near_misses() if (miss.problem_id, miss.name) == (problem.id, name)]
    return submit(problem, miss.files)


async def waves_of(
    problem: Problem, submission: Submission, grade: Grade, test: str, folder: Path, simulator: WaveSimulator
) -> dict[str, Any]:
    job = WavesJob(problem, submission, grade, chosen_test(grade, test))
    return await make_waves(job, folder, simulator, lambda sentence: None)


def arbiter(body: str, header: str = "") -> str:
    """The arbiter with client 0 as the only one that is served, and more."""
    return f"""{header}
module fixed_priority_arbiter (
    input logic clk, input logic reset, input logic [7:0] req, input logic [7:0] priority_override,
    output logic [7:0] grant, output logic valid, output logic [2:0] grant_index);
  always @(posedge clk) begin
    grant <= reset ? 0 : req & 1;
    valid <= !reset && req[0];
    grant_index <= 0;
  end
{body}
endmodule
"""


def value_at(found: dict[str, Any], name: str, time: int) -> str:
    (signal,) = [one for one in found["signals"] if one["name"].endswith(f".{name}")]
    return str([value for at, value in signal["changes"] if at <= time][-1]).rjust(signal["width"], "0")


async def test_a_near_miss_is_opened_at_the_cycle_in_which_it_fails(
    problems: Mapping[str, Problem], grader: SyncGrader, simulator: WaveSimulator, tmp_path: Path
) -> None:
    problem = problems[ARBITER]
    submission = near_miss(problem, "reversed_priority")
    grade = grader.grade(problem, submission)
    found = await waves_of(problem, submission, grade, LOWEST, tmp_path, simulator)
    mine, its = found["candidate"], found["reference"]
    (test,) = [test for test in grade.tests if test.name == LOWEST]
    assert mine["notes"] == []  # every test ended as in the grade
    assert (mine["fail_time"], mine["timescale"]) == (test.time_ns, "1ns")
    assert mine["differs_at"] == mine["fail_time"] - 5  # the rising edge before the falling one that looks
    assert (mine["failing_signal"], mine["expected"]) == ("fixed_priority_arbiter.grant", "0x1")
    assert value_at(mine, "grant", mine["fail_time"]) == f"{int(mine['got'], 16):08b}"
    assert value_at(its, "grant", mine["fail_time"]) == "00000001"
    assert value_at(its, "req", mine["differs_at"]) == value_at(mine, "req", mine["differs_at"])  # the same stimulus
    names = [one["name"].rpartition(".")[2] for one in mine["signals"]]
    assert names[:4] == ["clk", "priority_override", "req", "reset"]

    altered = tuple(replace(one, passed=True) if one is test else one for one in grade.tests)
    alone, other = replace(problem, reference=None), replace(grade, tests=altered)
    again = await waves_of(alone, submission, other, LOWEST, tmp_path, simulator)
    assert again["candidate"]["notes"] == [f"not as in the grade: {LOWEST} failed this time, and passed in the grade"]
    assert again["candidate"]["fail_time"] is None


async def test_of_a_parametrised_harness_the_simulation_that_failed_is_shown(
    problems: Mapping[str, Problem], grader: SyncGrader, simulator: WaveSimulator, tmp_path: Path
) -> None:
    problem = problems["rtl_gray_counter_0001"]
    submission = near_miss(problem, "fixed_width")
    grade = grader.grade(problem, submission)
    items = [test for test in grade.tests if not test.item]
    failing = next(test for test in items if test.passed is False)
    assert items[0].passed  # the one with the default parameters
    assert chosen_test(grade, failing.name).item == failing.name  # a test of the item, not the item itself
    found = await waves_of(problem, submission, grade, failing.name, tmp_path, simulator)
    assert found["candidate"]["notes"] == []
    sides = [found["candidate"]["signals"], found["reference"]["signals"]]
    mine, its = ({one["name"]: one["width"] for one in side} for side in sides)
    assert mine["gray_counter.gray"] == 4 != its["gray_counter.gray"]


async def test_under_cocotb_1_9_too(
    problems: Mapping[str, Problem], grader: SyncGrader, simulator: WaveSimulator, tmp_path: Path
) -> None:
    problem = problems["rtl_mod_counter_0001"]
    assert problem.harness.cocotb_version is CocotbVersion.V1
    submission = near_miss(problem, "registered_tc")
    grade = grader.grade(problem, submission)
    test = next(test for test in grade.tests if test.item and test.passed is False)
    waves = (await waves_of(problem, submission, grade, test.name, tmp_path, simulator))["candidate"]
    assert waves["notes"] == []
    assert waves["failing_signal"] == "mod_counter.tc"
    assert waves["differs_at"] <= waves["fail_time"] == test.time_ns


STEERING = """
  reg [7:0] mem [0:3];
  integer f;
  initial begin
    $dumpfile("/waves/1.vcd"); $dumpvars(1, valid); $dumplimit(1); $dumpoff; $dumpflush;
    f = $fopen("/waves/1.vcd", "w"); $fwrite(f, "forged"); $fflush(f);
  end
  always @(negedge clk) begin $dumpoff; $dumplimit(10); $dumpall; end
  final $writememh("/waves/1.vcd", mem);
"""
NAMES = r"""
  wire \$end = clk; wire \$enddefinitions = clk; wire \</script><script>alert(1)</script> = clk;
  reg [3:0] \#0 = 3; always @(posedge clk) \#0 <= \#0 + 1;
"""
MANY = """
  genvar i;
  generate for (i = 0; i < 5000; i = i + 1) begin : wide reg a = 0; end endgenerate
  reg [100000:0] vast = 0; always @(posedge clk) vast <= ~vast;
"""


@pytest.mark.parametrize(("body", "notes"), [(STEERING, []), (NAMES, []), (MANY, ["left out scopes", "left out bits"])])
async def test_a_design_cannot_steer_its_waves(
    body: str,
    notes: list[str],
    problems: Mapping[str, Problem],
    grader: SyncGrader,
    simulator: WaveSimulator,
    tmp_path: Path,
) -> None:
    problem = replace(problems[ARBITER], reference=None)
    submission = submit(problem, {problem.targets[0]: arbiter(body)})
    grade = grader.grade(problem, submission)
    waves = (await waves_of(problem, submission, grade, LOWEST, tmp_path, simulator))["candidate"]
    assert waves["notes"] == notes
    assert waves["fail_time"] == next(test.time_ns for test in grade.tests if test.name == LOWEST)
    names = {one["name"].rpartition(".")[2] for one in waves["signals"]}
    assert {"clk", "reset", "req", "grant", "valid"} <= names
    clock = next(one for one in waves["signals"] if one["name"].endswith(".clk"))
    assert len(clock["changes"]) > 8
    with (tmp_path / CANDIDATE).open("rb") as stream:
        vcd = open_vcd(stream)
        assert sum(1 for _ in changes(vcd)) > 50
        assert vcd.complete


async def test_waves_that_are_too_long_are_written_from_shortly_before_the_failure(
    problems: Mapping[str, Problem],
    grader: SyncGrader,
    simulator: WaveSimulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problems[ARBITER]
    assert problem.reference
    path = problem.targets[0]
    late = "int n = 0; always @(posedge clk) begin n <= n + 1; if (n > 60) grant <= 8'hff; end\nendmodule"
    submission = submit(problem, {path: problem.reference[path].replace("endmodule", late, 1)})
    grade = grader.grade(problem, submission)
    failing = next(test for test in grade.tests if test.item and test.passed is False)
    monkeypatch.setattr(dump, "FILE_BYTES", 2000)
    waves = (await waves_of(problem, submission, grade, failing.name, tmp_path, simulator))["candidate"]
    assert any(note.startswith("the file begins at ") for note in waves["notes"])
    assert waves["from"] <= waves["fail_time"] == failing.time_ns
    assert 0 < (tmp_path / CANDIDATE).stat().st_size < 2500


@pytest.mark.slow
async def test_a_simulation_without_end_is_shown_up_to_where_it_was_stopped(
    problems: Mapping[str, Problem], tmp_path: Path
) -> None:
    problem = replace(problems[ARBITER], reference=None)
    hang = "always @(posedge grant[0]) forever #0 ;"
    submission = submit(problem, {problem.targets[0]: arbiter(hang)})
    item = "test_runner.py::test_fixed_priority_arbiter"
    test = TestResult(LOWEST, False, "did not report", service="direct", item=item)
    seed = job_seed(problem, submission)
    grade = Grade(problem.id, Outcome.FAILED, tests=(test,), seed=seed)
    simulator = WaveSimulator(make_sandbox(1), find_toolchain(), timeout_seconds=15.0)
    waves = (await waves_of(problem, submission, grade, LOWEST, tmp_path, simulator))["candidate"]
    assert "the simulation was stopped while the waves were written" in waves["notes"]
    assert waves["fail_time"] == waves["to"]  # no test said when it failed: the last moment that there is
    assert len(waves["signals"]) >= 7


async def test_where_nothing_is_simulated_a_sentence_says_so(
    problems: Mapping[str, Problem], grader: SyncGrader, simulator: WaveSimulator, tmp_path: Path
) -> None:
    problem = problems[ARBITER]
    broken = submit(problem, {problem.targets[0]: "module fixed_priority_arbiter(; endmodule"})
    grade = grader.grade(problem, broken)
    with pytest.raises(NoWaves, match="No simulation was started for this test: it does not compile"):
        await waves_of(problem, broken, grade, grade.tests[0].name, tmp_path, simulator)
    with pytest.raises(NoWaves, match="runs no Icarus simulation"):
        service_named(problems["rtl_debouncer_0001"], "lint")
    with pytest.raises(NoWaves, match="no service 'elsewhere'"):
        service_named(problem, "elsewhere")
    with pytest.raises(NoWaves, match="no test"):
        chosen_test(grade, "another")


def test_tests_that_ended_otherwise_are_told_apart_where_a_harness_repeats_them() -> None:
    once = TestResult("t", True, time_ns=5.0, service="s", item="i")
    grade = Grade("p", Outcome.FAILED, tests=(once, replace(once, passed=False, time_ns=7.0)))
    assert unlike_grade(grade, "s", grade.tests) == []
    assert unlike_grade(grade, "s", grade.tests[::-1]) == [
        "t failed this time, and passed in the grade",
        "t passed this time, and failed in the grade",
    ]
    assert unlike_grade(grade, "s", grade.tests[:1]) == ["t did not run this time"]
    assert unlike_grade(grade, "s", (once, replace(once, passed=False, time_ns=8.0))) == [
        "t ended at 8.0 ns this time, and at 7.0 ns in the grade"
    ]

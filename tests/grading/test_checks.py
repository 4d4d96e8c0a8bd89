"""Counted checks: the same on both paths and under both cocotb generations, and never a part of the verdict."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest
import pytest_asyncio

from rtl_agent.grading import PRESETS, Grade, Grader, Outcome, SimulationMode, submit
from rtl_agent.grading.grade import Checks, Compared
from rtl_agent.grading.progress import MOST
from rtl_agent.problems import CocotbVersion, NearMiss, Problem, load_problems

in_one_loop = pytest.mark.asyncio(loop_scope="module")

ADDER = """module adder(input logic clk, input logic [3:0] a, b, output logic [4:0] sum, output logic odd);
    assign sum = {sum};
    assign odd = sum[0];
endmodule
"""
RUNNER = """
import os
from cocotb_tools.runner import get_runner

def test_adder():
    runner = get_runner("icarus")
    runner.build(sources=os.environ["VERILOG_SOURCES"].split(), hdl_toplevel="adder", always=True)
    runner.test(hdl_toplevel="adder", test_module="test_adder")
"""
LIBRARY = """
async def settled(timer, signal):
    await timer(1, "step")
    return int(signal.value)


class Board:
    def __init__(self):
        self.seen = []

    def take(self, value):
        self.seen.append(value)
"""
TESTS = """
import cocotb
import random
from cocotb.triggers import Timer
from library import Board, settled

PAIRS = [(a, b) for a in range(4) for b in (0, 3, 9, 15)]


async def add(dut, a, b):
    dut.a.value = a
    dut.b.value = b
    return await settled(Timer, dut.sum)


@cocotb.test()
async def sums_by_assertion(dut):
    for at, (a, b) in enumerate(PAIRS):
        assert at < 100
        got = await add(dut, a, b)
        assert int(dut.a.value) == a, "an input"
        assert got == a + b, f"{a} + {b} gave {got}"
        assert dut.odd.value == (a + b) % 2


@cocotb.test()
async def sums_by_counting_errors(dut):
    errors = 0
    board = Board()
    for a, b in PAIRS:
        board.take(await add(dut, a, b))
    for got, (a, b) in zip(board.seen, PAIRS):
        if got != a + b:
            dut._log.error(f"{a} + {b} gave {got}")
            errors += 1
    assert errors == 0, f"{errors} sums are wrong"


@cocotb.test()
async def sums_by_raising(dut):
    for a, b in PAIRS:
        if await add(dut, a, b) == a + b:
            continue
        else:
            raise ValueError(f"{a} + {b}")
    assert not dut.odd.value or dut.odd.value


@cocotb.test()
async def draws(dut):
    a = random.randrange(16)
    assert await add(dut, a, 1) == a + 1
"""


@pytest.fixture(scope="module")
def adder(bundled: dict[str, Problem]) -> Problem:
    """A problem whose harness checks in every usual way."""
    base = bundled["rtl_popcount_0001"]
    files = {**{path: text for path, text in base.harness.files.items() if not path.endswith(".py")}}
    files |= {"src/test_runner.py": RUNNER, "src/test_adder.py": TESTS, "src/library.py": LIBRARY}
    env = {**base.harness.services[0].env, "VERILOG_SOURCES": "/code/rtl/adder.sv", "TOPLEVEL": "adder"}
    services = (replace(base.harness.services[0], env=env),)
    harness = replace(base.harness, files=files, services=services)
    return replace(base, id="adder", context={}, targets=("rtl/adder.sv",), harness=harness, reference=design("a + b"))


def design(sum: str) -> dict[str, str]:
    return {"rtl/adder.sv": ADDER.replace("{sum}", sum)}


def under(problem: Problem, version: CocotbVersion) -> Problem:
    return replace(problem, harness=replace(problem.harness, cocotb_version=version))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def dense() -> AsyncIterator[dict[SimulationMode, Grader]]:
    weights = PRESETS["dense"]
    async with (
        Grader(jobs=1, path=SimulationMode.EXACT, weights=weights) as exact,
        Grader(jobs=1, path=SimulationMode.FAST, weights=weights) as fast,
    ):
        yield {SimulationMode.EXACT: exact, SimulationMode.FAST: fast}


async def on_both_paths(dense: Mapping[SimulationMode, Grader], problem: Problem, files: Mapping[str, str]) -> Grade:
    exact, fast = [await dense[path].grade(problem, submit(problem, files)) for path in SimulationMode if path in dense]
    assert (exact.path, fast.path) == ("exact", "fast")
    assert fast.tests == exact.tests
    assert (fast.outcome, fast.reasons, fast.reward) == (exact.outcome, exact.reasons, exact.reward)
    assert (fast.progress, fast.simulations) == (exact.progress, exact.simulations)
    return fast


def checks_of(grade: Grade) -> dict[str, Checks]:
    return {test.name.rpartition(".")[2]: test.checks for test in grade.tests if test.checks}


@in_one_loop
@pytest.mark.parametrize("version", CocotbVersion)
async def test_what_is_counted(
    adder: Problem,
    dense: Mapping[SimulationMode, Grader],
    graders: Mapping[SimulationMode, Grader],
    version: CocotbVersion,
) -> None:
    problem = under(adder, version)
    right = await on_both_paths(dense, problem, design("a + b"))
    assert (right.outcome, right.progress, right.reward.total) == (Outcome.PASSED, None, right.reward.maximum)
    found = checks_of(right)
    asserted = found["sums_by_assertion"]
    assert (asserted.evaluated, asserted.held, asserted.other, asserted.whole) == (32, 32, 32, True)
    assert asserted.signals["odd"] == Compared(16, 16, 8)
    assert found["sums_by_counting_errors"].signals["sum"].compared == 17  # and that there was no error
    assert found["sums_by_raising"].signals["sum"] == Compared(16, 16, 2)

    wrong = await on_both_paths(dense, problem, design("a + b + (a == 2)"))  # a quarter of the sums, from the 9th on
    plain = await graders[SimulationMode.FAST].grade(problem, submit(problem, design("a + b + (a == 2)")))
    bare = tuple(replace(test, checks=None) for test in wrong.tests)
    assert (bare, wrong.outcome, wrong.reasons) == (plain.tests, plain.outcome, plain.reasons)
    assert plain.progress is None
    asserted = checks_of(wrong)["sums_by_assertion"]
    assert (asserted.evaluated, asserted.held) == (17, 16)
    assert asserted.whole, "the second pass came to the end"
    assert asserted.signals["sum"] == replace(found["sums_by_assertion"].signals["sum"], matched=12)
    assert checks_of(wrong)["sums_by_raising"].signals["sum"].matched == 12
    assert wrong.simulations[0].held is not None
    assert wrong.progress is not None
    # Three quarters of 48 sums and of 16 odd bits; one comparison of the number of errors, one truth about `odd`.
    assert wrong.progress.signals == {"sum": round(36 / 49, 6), "odd": round(13 / 17, 6)}
    by_name = {part.name: part for part in wrong.progress.parts}
    assert by_name["tests_passed"].value == 0.25
    assert 0.2 < (by_name["checks_reached"].value or 0) < 0.75
    assert 0.3 < (by_name["values_matched"].value or 0) < 0.75
    assert MOST * 0.25 < wrong.reward.parts["tests"] == wrong.progress.score < MOST * 0.5


@in_one_loop
async def test_without_a_reference_the_second_pass_tells_what_there_is(
    adder: Problem, dense: Mapping[SimulationMode, Grader]
) -> None:
    problem = replace(adder, id="adder_without_reference", reference=None)
    grade = await dense[SimulationMode.FAST].grade(problem, submit(problem, design("a + b + (a == 2)")))
    assert grade.progress is not None
    with_reference = await dense[SimulationMode.FAST].grade(adder, submit(adder, design("a + b + (a == 2)")))
    assert with_reference.progress is not None
    assert grade.progress.score == pytest.approx(with_reference.progress.score, abs=0.1)


@in_one_loop
@pytest.mark.parametrize("sum", ["5'd0", "5'd31", "5'bx", "5'bz"])
async def test_outputs_that_never_change_earn_nothing_beyond_tests(
    adder: Problem, dense: Mapping[SimulationMode, Grader], sum: str
) -> None:
    grade = await dense[SimulationMode.FAST].grade(adder, submit(adder, design(sum)))
    assert grade.progress is not None
    assert grade.progress.score == 0


@in_one_loop
async def test_generated_problems_tell_the_share_of_vectors_by_output(dense: Mapping[SimulationMode, Grader]) -> None:
    problem = next(one for one in load_problems("generated") if one.family == "generated_alu")
    assert problem.reference is not None
    right = await on_both_paths(dense, problem, problem.reference)
    (vectors,) = [checks for name, checks in checks_of(right).items() if name == "outputs_are_as_computed"]
    assert vectors.evaluated == vectors.held >= 72
    assert set(vectors.signals) == {name for name in vectors.signals if name in problem.prompt}


@in_one_loop
async def test_near_misses_have_the_same_counts_on_both_paths(
    near_misses: list[NearMiss], bundled: dict[str, Problem], dense: Mapping[SimulationMode, Grader]
) -> None:
    """One of each generation of cocotb, on harnesses with libraries, clocks and background tasks."""
    for name in ("rtl_mod_counter_0001", "rtl_uart_tx_0001"):
        miss = next(miss for miss in near_misses if miss.problem_id == name)
        problem = bundled[name]
        grade = await on_both_paths(dense, problem, {**(problem.reference or {}), **miss.files})
        assert grade.progress is not None
        assert 0 < grade.progress.score < MOST
        assert sum(checks.evaluated for checks in checks_of(grade).values()) > 50

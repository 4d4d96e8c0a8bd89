"""Verilog benches of other sets: the verdict is the bench's, and comes from a simulation that the design is not in.

`attacks/bench_*` and `accepts/bench_*` have what designs try and what is right; these are the rules around them.
"""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from rtl_agent.grading import Grade, Grader, Outcome, submit
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import Problem, load_problems
from tests.problems.test_sets import CHECKOUTS, SOURCES, each_checkout

in_one_loop = pytest.mark.asyncio(loop_scope="module")
PROBLEMS = [problem for source in SOURCES for problem in load_problems(source)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fast() -> AsyncIterator[Grader]:
    async with Grader(jobs=1, path=SimulationMode.FAST) as grader:
        yield grader


async def graded(grader: Grader, problem: Problem, text: str) -> Grade:
    return await grader.grade(problem, submit(problem, {problem.targets[0]: text}))


@in_one_loop
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)
async def test_the_reference_passes(fast: Grader, problem: Problem) -> None:
    assert problem.reference is not None
    grade = await graded(fast, problem, problem.reference[problem.targets[0]])
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)
    assert grade.reward.total == grade.reward.maximum


@in_one_loop
async def test_what_the_bench_says_of_a_wrong_design_is_the_reason(fast: Grader) -> None:
    problem = PROBLEMS[0]
    assert problem.reference is not None
    wrong = problem.reference["rtl/TopModule.sv"].replace("q == 7 ? 7", "q == 6 ? 6")
    grade = await graded(fast, problem, wrong)
    assert grade.outcome is Outcome.FAILED
    assert "Output 'q' has" in " ".join(grade.reasons)
    assert "Mismatches:" in " ".join(grade.reasons)


@in_one_loop
async def test_a_design_that_does_not_compile_is_told_so(fast: Grader) -> None:
    grade = await graded(fast, PROBLEMS[0], "module TopModule(input clk, output q); assign q = ; endmodule")
    assert grade.outcome is Outcome.FAILED
    assert "does not compile" in " ".join(grade.reasons)
    assert grade.diagnostics


@in_one_loop
async def test_a_module_of_another_name_does_not_pass(fast: Grader) -> None:
    problem = PROBLEMS[0]
    assert problem.reference is not None
    text = problem.reference["rtl/TopModule.sv"].replace("TopModule", "top_module")
    assert (await graded(fast, problem, text)).outcome is Outcome.FAILED


def with_plan(problem: Problem, **changes: object) -> Problem:
    plan = json.loads(problem.harness.files["src/bench.json"]) | changes
    files = {**problem.harness.files, "src/bench.json": json.dumps(plan)}
    return replace(problem, harness=replace(problem.harness, files=files))


@in_one_loop
async def test_a_bench_that_its_own_reference_does_not_pass_is_an_error_and_no_failure_of_the_design(
    fast: Grader,
) -> None:
    problem = PROBLEMS[0]
    assert problem.reference is not None
    plan = json.loads(problem.harness.files["src/bench.json"])
    broken = with_plan(problem, bench=[plan["bench"][0].replace('"Mismatches: %1d', '"Mismatches! %1d')])
    grade = await graded(fast, broken, problem.reference["rtl/TopModule.sv"])
    assert grade.outcome is Outcome.ERROR
    assert "the set's own reference does not pass its bench" in " ".join(grade.reasons)


@in_one_loop
async def test_a_bench_that_says_failed_and_passed_fails(fast: Grader) -> None:
    """As RTLLM's ring_counter does of any design; its own script would take that for passed."""
    problem = next(one for one in PROBLEMS if one.id == "rtllm_adder_6bit_0001")
    plan = json.loads(problem.harness.files["src/bench.json"])
    always = plan["bench"][0].replace("if (error == 0) begin", "if (1) begin")
    assert always != plan["bench"][0]
    text = (
        "module adder_6bit(input [5:0] a, b, input cin, output [5:0] y, output co); assign {co, y} = a + b; endmodule"
    )
    grade = await graded(fast, with_plan(problem, bench=[always]), text)
    assert grade.outcome is Outcome.FAILED
    assert "Your Design Passed" in " ".join(grade.reasons)


@in_one_loop
@pytest.mark.slow
@pytest.mark.parametrize("name", each_checkout())
async def test_every_reference_of_a_real_checkout_passes(fast: Grader, name: str) -> None:
    failed = {}
    for problem in load_problems(CHECKOUTS[name].format(Path(os.environ[name]))):
        assert problem.reference is not None
        grade = await graded(fast, problem, problem.reference[problem.targets[0]])
        if grade.outcome is not Outcome.PASSED:
            failed[problem.id] = grade.reasons
    assert not failed

"""The grader as a whole: four outcomes, every kind of service, repeatable, and no fault of ours becomes a zero."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.grading import CannotGrade, Grader, Outcome, StageName, parse_weights, submit
from rtl_agent.problems import CocotbVersion, Harness, Needs, Problem, Service, read_problems
from rtl_agent.sandbox import Box, BoxSpec, SandboxError

pytestmark = pytest.mark.asyncio(loop_scope="module")  # with the grader that they share

ARBITER = "rtl_fixed_priority_arbiter_0001"
ENV = {
    "SIM": "icarus",
    "TOPLEVEL": "dut",
    "VERILOG_SOURCES": "/code/rtl/dut.sv",
    "MODULE": "checks",
    "PYTHONPATH": "/src",
}
PYTEST = ("pytest", "-o", "cache_dir=/code/rundir/.cache", "/src/test_runner.py", "-v")
INVERTER = "module dut(input a, output y);\n  assign y = ~a;\nendmodule\n"
WIRE = "module dut(input a, output y);\n  assign y = a;\nendmodule\n"
RUNNER = """
import os
from cocotb_tools.runner import get_runner
def run(**options):
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/dut.sv"], hdl_toplevel="dut", always=True, clean=True, timescale=("1ns", "1ns"))
    runner.test(hdl_toplevel="dut", test_module="checks", **options)
"""
CHECKS = """
import cocotb, random
from cocotb.triggers import Timer

@cocotb.test()
async def inverts(dut):
    for value in (0, 1, random.randint(0, 1)):
        dut.a.value = value
        await Timer(5, "ns")
        assert int(dut.y.value) == 1 - value, f"a={value}: y should be {1 - value}"
"""


def problem_with(
    files: dict[str, str], *services: Service, cocotb_version: CocotbVersion = CocotbVersion.V2
) -> Problem:
    services = services or (Service("direct", PYTEST, ENV, False),)
    return Problem(
        id="rtl_dut_0001",
        family="dut",
        category="cid003",
        difficulty="easy",
        kind="single-shot",  # type: ignore[arg-type]
        needs=Needs.OPEN_TOOLS,
        prompt="Invert.",
        context={},
        targets=("rtl/dut.sv",),
        harness=Harness(files, services, cocotb_version),
    )


def plain(test_runner: str = "def test_dut():\n    run()\n", checks: str = CHECKS) -> Problem:
    return problem_with({"src/test_runner.py": RUNNER + test_runner, "src/checks.py": checks})


async def test_right_and_wrong(grader: Grader) -> None:
    problem = plain()
    right = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert right.outcome is Outcome.PASSED, (right.reasons, right.log)
    assert len(right.simulations) == 1
    wrong = await grader.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))
    assert wrong.outcome is Outcome.FAILED
    assert wrong.reasons == ("checks.inverts: a=0: y should be 1",)
    failing = next(test for test in wrong.tests if test.item)
    assert failing.time_ns == 5.0
    assert failing.where == "checks.py:10"


async def test_what_does_not_compile_has_file_and_line(grader: Grader) -> None:
    problem = plain()
    graded = await grader.grade(
        problem, submit(problem, {"rtl/dut.sv": "module dut(input a, output y);\n  oops\nendmodule\n"})
    )
    assert graded.outcome is Outcome.FAILED
    assert graded.stage(StageName.SYNTAX).passed is False
    assert graded.reward.total == 0.1
    assert {found.tool for found in graded.diagnostics} >= {"icarus", "verilator", "slang"}
    assert any(found.file == "rtl/dut.sv" and found.line in (2, 3) for found in graded.diagnostics)


async def test_files_as_given_are_invalid_and_earn_nothing(bundled: dict[str, Problem], grader: Grader) -> None:
    problem = next(problem for problem in bundled.values() if problem.given)
    graded = await grader.grade(problem, submit(problem, problem.given))
    assert graded.outcome is Outcome.INVALID
    assert graded.reward.total == 0
    assert graded.reward.maximum == 1.4
    assert "exactly as it was given" in graded.reasons[0]


async def test_a_reply_is_judged_from_its_code_block(bundled: dict[str, Problem], grader: Grader) -> None:
    problem = bundled[ARBITER]
    assert problem.reference is not None
    text = next(iter(problem.reference.values()))
    assert (await grader.grade_reply(problem, f"<think>hm</think>\n```verilog\n{text}```")).outcome is Outcome.PASSED
    nothing = await grader.grade_reply(problem, "I would rather not.")
    assert (nothing.outcome, nothing.reward.total) == (Outcome.INVALID, 0.0)


async def test_the_same_text_gets_the_same_grade(bundled: dict[str, Problem], grader: Grader) -> None:
    problem = bundled[ARBITER]
    assert problem.reference is not None
    design = {path: text.replace("grant_index <=", "grant_index <= 3'd1 +") for path, text in problem.reference.items()}
    first, second = [await grader.grade(problem, submit(problem, design)) for _ in range(2)]
    assert first.seed == second.seed
    assert (first.tests, first.reasons, first.reward) == (second.tests, second.reasons, second.reward)


async def test_seeds_reach_every_source_of_chance(grader: Grader) -> None:
    """Unseeded, seeded from nothing, from the clock: each run of the same submission draws the same numbers."""
    checks = (
        CHECKS
        + """
import time
random.seed()
first = random.random()
random.seed(time.time())
second = random.random()
random.seed(int(time.time() * 1000))
third = random.random()

@cocotb.test()
async def tells(dut):
    assert False, f"{first} {second} {third} {random.random()} {list({'a', 'b', 'c', 'd'})}"
"""
    )
    problem = plain("import random\nprint(random.random())\n\ndef test_dut():\n    run()\n", checks)
    said = []
    for design in (INVERTER, INVERTER, INVERTER + "\n"):
        graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": design}))
        said.append(next(test.message for test in graded.tests if test.name == "checks.tells"))
    assert said[0] == said[1]
    assert said[0] != said[2]


async def test_items_parametrised_by_chance_are_expected_under_the_jobs_seed(grader: Grader) -> None:
    problem = plain(
        "import pytest, random\n"
        "@pytest.mark.parametrize('value', [random.randint(0, 10**9) for _ in range(2)])\n"
        "def test_dut(value):\n    run()\n"
    )
    graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert graded.outcome is Outcome.PASSED, graded.reasons
    assert sum(1 for test in graded.tests if not test.item) == 2


@pytest.mark.parametrize(("body", "passes"), [("return False", False), ("return True", False), ("return None", True)])
async def test_a_harness_that_returns_its_verdict_is_not_believed(body: str, passes: bool, grader: Grader) -> None:
    problem = plain(f"def test_dut():\n    run()\n    {body}\n")
    graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert (graded.outcome is Outcome.PASSED) == passes
    if not passes:
        assert any("instead of asserting" in reason for reason in graded.reasons)


async def test_every_service_must_pass(grader: Grader) -> None:
    lint = """
import subprocess
def test_lint():
    command = "verilator --lint-only -Wall $VERILOG_SOURCES > lint_results.log 2>&1"
    assert subprocess.run(command, shell=True).returncode == 0
"""
    synth = """
import subprocess
def test_synth():
    script = "read_verilog -sv /code/rtl/dut.sv; synth -top dut; stat"
    subprocess.run(["yosys", "-q", "-p", script, "-l", "/code/rundir/synth.log"], check=True)
"""
    services = (
        Service("sanity", ("/bin/sh", "-c", "pip install aes && pytest /src/test_runner.py -s"), ENV, True),
        Service("lint", ("pytest", "/src/lint.py"), ENV, True),
        Service("synth", ("pytest", "/src/synth.py"), ENV, True),
        Service("direct", ("iverilog", "-g2012", "-t", "null", "/code/rtl/dut.sv"), ENV, False),
    )
    files = {
        "src/test_runner.py": RUNNER + "def test_dut():\n    run()\n",
        "src/checks.py": CHECKS,
        "src/lint.py": lint,
        "src/synth.py": synth,
    }
    problem = problem_with(files, *services)
    clean = "module dut (\n    input  logic a,\n    output logic y\n);\n  assign y = ~a;\nendmodule\n"
    graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": clean}))
    assert graded.outcome is Outcome.PASSED, (graded.reasons, graded.log)
    assert {test.service for test in graded.tests} == {"sanity", "lint", "synth"}
    dirty = clean.replace("assign", "logic spare;\n  assign")
    graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": dirty}))
    assert graded.outcome is Outcome.FAILED
    assert any(found.tool == "verilator" and "UNUSED" in found.text for found in graded.diagnostics)


async def test_a_harness_of_the_older_cocotb(grader: Grader) -> None:
    old = {
        "src/test_runner.py": RUNNER.replace("cocotb_tools.runner", "cocotb.runner") + "def test_dut():\n    run()\n",
        "src/checks.py": CHECKS.replace("int(dut.y.value)", "dut.y.value.integer"),
    }
    problem = problem_with(old, cocotb_version=CocotbVersion.V1)
    right = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert right.outcome is Outcome.PASSED, (right.reasons, right.log)
    assert right.tools["cocotb"] == "1.9.2"
    wrong = await grader.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))
    assert wrong.reasons == ("checks.inverts: a=0: y should be 1",)
    ended = await grader.grade(
        problem, submit(problem, {"rtl/dut.sv": INVERTER.replace("assign", "initial $finish;\n  assign")})
    )
    assert ended.outcome is Outcome.FAILED


@pytest.mark.parametrize("cocotb_version", CocotbVersion)
async def test_each_generation_has_the_others_runner(cocotb_version: CocotbVersion, grader: Grader) -> None:
    for module in ("cocotb.runner", "cocotb_tools.runner"):
        files = {
            "src/test_runner.py": RUNNER.replace("cocotb_tools.runner", module) + "def test_dut():\n    run()\n",
            "src/checks.py": CHECKS,
        }
        problem = problem_with(files, cocotb_version=cocotb_version)
        graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
        assert graded.outcome is Outcome.PASSED, (module, graded.reasons, graded.log)


async def test_a_one_bit_value_converts_as_an_array_does(grader: Grader) -> None:
    problem = plain(
        checks=CHECKS.replace("int(dut.y.value) ==", "dut.y.value.to_unsigned() == -dut.y.value.to_signed() ==")
    )
    right = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert right.outcome is Outcome.PASSED, right.reasons
    wrong = await grader.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))
    assert wrong.reasons == ("checks.inverts: a=0: y should be 1",)


async def test_a_design_that_never_ends_is_stopped_and_failed() -> None:
    problem = plain()
    async with Grader(jobs=1, timeout_seconds=5) as grader:
        hung = INVERTER.replace("assign", "initial forever #0 ;\n  assign")
        graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": hung}))
    assert graded.outcome is Outcome.FAILED
    assert "does not end" in graded.reasons[0] or "CPU time" in graded.reasons[0]


async def test_without_weight_on_tests_nothing_is_simulated() -> None:
    problem = plain()
    async with Grader(jobs=1, weights=parse_weights("format=0.1,syntax=0.3")) as grader:
        graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert not graded.simulations
    assert graded.reward.total == 0.4
    assert graded.stage(StageName.TESTS).passed is None


async def test_a_fault_of_the_sandbox_is_an_error_and_no_failure() -> None:
    class Broken:
        name = "broken"
        opened = 0

        @asynccontextmanager
        async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[Box]:
            self.opened += 1
            raise SandboxError("no room")
            yield  # pragma: no cover

    sandbox = Broken()
    problem = plain()
    async with Grader(jobs=1, sandbox=sandbox) as grader:
        graded = await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert graded.outcome is Outcome.ERROR
    assert "no room" in graded.reasons[0]
    assert sandbox.opened >= 2


async def test_problems_for_other_tools_say_what_they_need(grader: Grader) -> None:
    problem = replace(plain(), needs=Needs.COMMERCIAL)
    with pytest.raises(CannotGrade, match="Xcelium"):
        await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))


async def test_many_at_once(grader: Grader) -> None:
    problem = plain()
    designs = [INVERTER if index % 2 else WIRE for index in range(6)]
    jobs = (
        grader.grade(problem, submit(problem, {"rtl/dut.sv": f"// {index}\n{design}"}))
        for index, design in enumerate(designs)
    )
    grades = await asyncio.gather(*jobs)
    assert [graded.outcome is Outcome.PASSED for graded in grades] == [design is INVERTER for design in designs]


async def test_interface_differences_are_said_and_do_not_decide(bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    assert problem.reference is not None
    renamed = {path: text.replace("valid", "grant_valid") for path, text in problem.reference.items()}
    async with Grader(jobs=1, weights=parse_weights("graded")) as grader:
        graded = await grader.grade(problem, submit(problem, renamed))
        good = await grader.grade(problem, submit(problem, problem.reference))
    assert "output `valid` is missing; you wrote `grant_valid`" in graded.stage(StageName.INTERFACE).notes
    assert graded.reward.parts["interface"] == 0.0
    assert good.reward.parts["interface"] == 0.2
    assert good.reward.total == 1.6


@pytest.mark.cvdp
async def test_cvdps_two_open_examples(cvdp: Path, grader: Grader) -> None:
    """Their references pass, their empty files fail."""
    found = [
        problem
        for file in sorted(cvdp.glob("*v1.1.0_example*no_commercial_with_solutions.jsonl"))
        for problem in read_problems(file)
    ]
    assert [problem.id for problem in found] == ["cvdp_agentic_fixed_arbiter_0001", "cvdp_copilot_lfsr_0001"]
    for problem in found:
        assert problem.reference is not None
        graded = await grader.grade(problem, submit(problem, problem.reference))
        assert graded.outcome is Outcome.PASSED, (graded.reasons, graded.log)
        empty = await grader.grade(problem, submit(problem, dict.fromkeys(problem.targets, "// empty\n")))
        assert empty.outcome is Outcome.FAILED

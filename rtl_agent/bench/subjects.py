"""What is measured: three bundled problems and one with the least to do, each with submissions that never repeat."""

import itertools
from dataclasses import replace

from rtl_agent.grading import Submission, submit
from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem, Service, load_problems

ARBITER = "rtl_fixed_priority_arbiter_0001"
GRAY = "rtl_gray_counter_0001"
MOD = "rtl_mod_counter_0001"
INVERTER = "inverter"
IN_WORDS = {
    ARBITER: "arbiter: 1 simulation, 7 tests, 242 clock cycles",
    INVERTER: "inverter: 1 simulation, 1 test, no clock",
    GRAY: "Gray counter: 3 parameter sets, so 3 simulations",
    MOD: "modulo counter: 2 parameter sets, cocotb 1.9.2",
}

_DESIGN = "module dut(input a, output y);\n  assign y = ~a;\nendmodule\n"
_RUNNER = """\
from cocotb_tools.runner import get_runner


def test_dut():
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/dut.sv"], hdl_toplevel="dut", always=True, clean=True, timescale=("1ns", "1ns"))
    runner.test(hdl_toplevel="dut", test_module="checks")
"""
_CHECKS = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def inverts(dut):
    for value in (0, 1):
        dut.a.value = value
        await Timer(5, "ns")
        assert int(dut.y.value) == 1 - value
"""
_numbers = itertools.count(1)


def subjects() -> dict[str, Problem]:
    """By the name used in tables, the arbiter first."""
    bundled = {problem.id: problem for problem in load_problems("bundled")}
    return {ARBITER: bundled[ARBITER], INVERTER: inverter(), GRAY: bundled[GRAY], MOD: bundled[MOD]}


def inverter() -> Problem:
    """One test, three lines of RTL: what is left is what a grade costs by itself."""
    env = {"SIM": "icarus", "TOPLEVEL": "dut", "VERILOG_SOURCES": "/code/rtl/dut.sv", "MODULE": "checks"}
    argv = ("pytest", "-o", "cache_dir=/code/rundir/.cache", "/src/test_runner.py", "-v")
    service = Service("direct", argv, {**env, "PYTHONPATH": "/src"}, False)
    return Problem(
        id="rtl_bench_inverter_0001",
        family="bench_inverter",
        category="cid003",
        difficulty="easy",
        kind=Kind.SINGLE_SHOT,
        needs=Needs.OPEN_TOOLS,
        prompt="Invert.",
        context={},
        targets=("rtl/dut.sv",),
        harness=Harness({"src/test_runner.py": _RUNNER, "src/checks.py": _CHECKS}, (service,), CocotbVersion.V2),
        reference={"rtl/dut.sv": _DESIGN},
    )


def fresh(problem: Problem, files: dict[str, str] | None = None) -> Submission:
    """The reference, or other files, with a comment that no submission had before: nothing can come from a cache."""
    given = files or dict(problem.reference or {})
    number = next(_numbers)
    return submit(problem, {path: f"{text}\n// {number}\n" for path, text in given.items()})


def with_clocks(problem: Problem, runner: str, bench: str) -> Problem:
    """The same problem, with these lines in front of its runner file and behind its cocotb test file."""
    files = dict(problem.harness.files)
    service = problem.harness.services[0]
    tests = f"src/{service.env['MODULE']}.py"
    files["src/test_runner.py"] = runner + files["src/test_runner.py"]
    files[tests] = files[tests] + bench
    return replace(problem, harness=replace(problem.harness, files=files))

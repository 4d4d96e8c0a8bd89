"""Small problems whose tests have known faults: the template's problem with another design, specification and tests."""

from dataclasses import replace
from pathlib import Path

from rtl_agent.problems import Problem, read_directory
from rtl_agent.problems.directories import new_directory

HEAD = """
import random

import cocotb
from cocotb.triggers import Timer


async def clock(dut, **values):
    for name, value in values.items():
        getattr(dut, name).value = value
    for level in (0, 1, 0):
        dut.clk.value = level
        await Timer(5, unit="ns")
"""


def problem_of(folder: Path, name: str, design: str, specification: str, tests: str) -> Problem:
    """`design` and `tests` are of a module `name`, in rtl/NAME.sv."""
    directory = new_directory(f"weak_{name}_0001", folder)
    (directory / "prompt.md").write_text(specification)
    (directory / "reference" / "rtl" / f"{name}.sv").write_text(design)
    (directory / "harness" / "src" / f"test_{name}.py").write_text(HEAD + tests)
    for miss in (directory / "near_misses").iterdir():
        miss.unlink()
    return read_directory(directory)


def without_the_lottery(problem: Problem) -> Problem:
    """What else is wrong is no matter of luck."""
    files = {path: text.replace("random.random() < 0.75", "True") for path, text in problem.harness.files.items()}
    return replace(problem, harness=replace(problem.harness, files=files))


def blind(folder: Path) -> Problem:
    """Nobody looks at `spare`, a test is a lottery, and one looks at a name inside that the specification does not
    give. `hold` is written twice the same, so that a mutant of it is equivalent."""
    return problem_of(
        folder, "blind", BLIND, "A module `blind` with `clk`, `rst`, `step`, `count`, `spare`.", BLIND_TESTS
    )


BLIND = """\
module blind (
    input  logic       clk,
    input  logic       rst,
    input  logic       step,
    output logic [3:0] count,
    output logic       spare
);

    logic [3:0] total;
    logic       hold;

    assign hold  = step && step;
    assign count = total;
    assign spare = ^total;

    always_ff @(posedge clk) begin
        if (rst)
            total <= 4'd0;
        else if (hold)
            total <= total + 4'd1;
    end

endmodule
"""

BLIND_TESTS = """

@cocotb.test()
async def counts(dut):
    await clock(dut, rst=1, step=0)
    for cycle in range(20):
        assert dut.count.value.to_unsigned() == cycle % 16
        await clock(dut, rst=0, step=1)
    await clock(dut, step=0)
    assert dut.count.value.to_unsigned() == 4


@cocotb.test()
async def looks_inside(dut):
    await clock(dut, rst=1, step=0)
    assert dut.total.value.to_unsigned() == 0


@cocotb.test()
async def lottery(dut):
    await Timer(1, unit="ns")
    assert random.random() < 0.75
"""


def constant(folder: Path) -> Problem:
    """Its only test looks while the reset is on."""
    return problem_of(
        folder,
        "constant",
        CONSTANT,
        "A module `constant`: `q` follows `d` a `clk` later; `rst` clears it.",
        CONSTANT_TESTS,
    )


CONSTANT = """\
module constant (
    input  logic clk,
    input  logic rst,
    input  logic d,
    output logic q
);

    always_ff @(posedge clk)
        q <= rst ? 1'b0 : d;

endmodule
"""

CONSTANT_TESTS = """

@cocotb.test()
async def reset(dut):
    await clock(dut, rst=1, d=1)
    assert dut.q.value == 0
"""


def unchecked(folder: Path) -> Problem:
    """Its test waits for the slow clock inside, and for nothing else."""
    head = "module unchecked (input clk, output reg done);\nendmodule\n"
    return problem_of(folder, "unchecked", head, f"`tick` is half as fast as `clk`.\n\n{head}", UNCHECKED_TESTS)


UNCHECKED_TESTS = """
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout


@cocotb.test()
async def waits(dut):
    cocotb.start_soon(Clock(dut.clk, 5, unit="ns").start())
    for _ in range(3):
        await with_timeout(RisingEdge(dut.tick), 100, "ns")
    await with_timeout(RisingEdge(dut.done), 100, "ns")
"""

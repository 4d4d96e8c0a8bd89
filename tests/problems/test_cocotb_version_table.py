"""The table of signs against both generations of cocotb: what it says of each was seen in a simulation of each."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.problems import CocotbVersion
from rtl_agent.problems.cocotb_version import TABLE, Weight
from rtl_agent.problems.cocotb_version.table import MODULES_1, MODULES_2, NAMES_1, NAMES_2, VALUE_1, VALUE_2, VALUE_OLD
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox
from rtl_agent.toolchain import find_toolchain

ONE, TWO = CocotbVersion.V1, CocotbVersion.V2
DESIGN = """`timescale 1ns/1ns
module dut (input logic clk, input logic b, input logic [7:0] v, output logic ob, output logic [7:0] o, output logic u);
    logic [7:0] mem [0:3];
    initial for (int i = 0; i < 4; i++) mem[i] = i;
    assign ob = b;
    assign o = v;
endmodule
"""
# Sign -> Python that works where the sign points to, and not in the other generation: it raises, or is not as it says.
SHOWN = {
    "descending-slice": "assert dut.o.value[7:4] == 0xA",
    "ascending-slice": "assert dut.o.value[0:3] == 0xA",
    "open-slice": "assert dut.o.value[4:] == 5 and dut.o.value[:4] == 0xA",
    "step-slice": "assert [int(v) for v in dut.mem.value[::-1]] == [3, 2, 1, 0]",
    "negative-index": "assert dut.o.value[-1] == 1",
    "arithmetic": "assert dut.o.value + 1 == 0xA6 and 1 << dut.ob.value == 2 and -dut.o.value == -0xA5",
    "bits-with-int": "assert dut.o.value & 0xF == 5 and 1 ^ dut.ob.value == 0",
    "inverted-number": "assert ~dut.o.value == 0x5A",
    "only-2-handle-attributes": "assert dut.o.range.left == 7 and dut.o.get() == 0xA5 and dut.clk.rising_edge",
    "only-1-task-attributes": "cocotb.start_soon(wait(1)).has_started(); Clock(dut.clk, 10, 'ns').frequency",
    "only-2-task-attributes": "cocotb.start_soon(wait(1)).complete",
    "logic-types": "from cocotb.types import LogicArray, Logic; assert int(LogicArray('101')) == 5 and Logic('1') == 1",
    "clock-started": "c = Clock(dut.clk, 10, 'ns'); c.start(); c.stop()",
    "handle-compared": "assert dut.ob == 1",
    "handle-assigned": "dut.v = 0xA5",
    "bit-handle": "assert dut.o[0].value == 1",
    "handle-attributes": "assert dut.o._range == (7, 0)",
    "written-text": "dut.v.value = '10100101'",
    "written-tuple": "dut.mem.value = (0, 1, 2, 3)",
    "only-2-conversions": "assert dut.o.value.to_unsigned() == 0xA5 and dut.o.value.resolve('zeros') == 0xA5",
    "only-1-attributes": "assert dut.o.value.n_bits == 8 and dut.o.value.get_value_signed() < 0",
    "old-attributes": "assert dut.ob.value.integer == 1 and dut.ob.value.binstr == '1' and dut.ob.value.buff",
    "lower-case-x": "assert 'x' in str(dut.u.value)",
    "upper-case-x": "assert 'X' in str(dut.u.value)",
    "unit": "Clock(dut.clk, 10, unit='ns'); Timer(1, unit='ns'); get_sim_time(unit='ns')",
    "clock-options": "Clock(dut.clk, 10, 'ns', impl='py')",
    "clock-cycles": "Clock(dut.clk, 10, 'ns').start(cycles=1).close()",
    "timer-zero": "Timer(0)",
    "only-2-names": "import cocotb.simtime; cocotb.parametrize",
    "only-1-names": "import cocotb.binary; from cocotb.result import TestFailure",
    "runner-1": "import cocotb.runner",  # without the aliases that the grader adds
    "runner-2": "import cocotb_tools.runner",
    "define-without-value": "runner()._get_define_options({'X': None})",
    "define-with-text": "assert runner()._get_define_options({'X': '8'}) == ['-DX=8']",
}
# What works in both, as the rows that decide nothing say.
BOTH = [
    "assert dut.o.value == 0xA5 and dut.o.value == '10100101' and dut.o.value != 1 and dut.ob.value in (0, 1)",
    "assert dut.u.value != 0 and dut.u.value != 1 and dut.u.value == 'x'",
    "assert [int(b) for b in dut.o.value] == [1, 0, 1, 0, 0, 1, 0, 1]",
    "assert len(dut.o.value) == 8 and len(dut.ob.value) == 1 and int(dut.o.value) == 0xA5 and str(dut.o.value)",
    "assert dut.o.value.is_resolvable and not dut.u.value.is_resolvable",
    "assert dut.o.value & dut.v.value == 0xA5 and dut.mem[1].value == 1 and dut.mem.value[1] == 1",
    "dut.v.value = -1",
    "Timer(1, units='ns'); Clock(dut.clk, 10, units='ns'); get_sim_time(units='ns')",
]
NEITHER = ["dut.o.value > 3", "dut.v.value = 256", "int(dut.u.value)", "hash(dut.o.value)", "dut.o.value[8]"]
BENCH = """
import json, warnings
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

warnings.simplefilter("ignore")

def runner():
    try:
        from cocotb_tools.runner import get_runner
    except ImportError:
        from cocotb.runner import get_runner
    return get_runner("icarus")

async def wait(nanoseconds):
    await Timer(nanoseconds, "ns")

@cocotb.test()
async def look(dut):
    dut.v.value, dut.b.value = 0xA5, 1
    await Timer(1, "ns")
    found = {}
    for code in json.load(open("codes.json")):
        try:
            exec(code, {**globals(), "dut": dut})
            found[code] = ""
        except Exception as error:
            found[code] = repr(error)
    json.dump(found, open("found.json", "w"))
"""
RUN = """
try:
    from cocotb_tools.runner import get_runner
except ImportError:
    from cocotb.runner import get_runner
runner = get_runner("icarus")
runner.build(sources=["dut.sv"], hdl_toplevel="dut", always=True)
runner.test(hdl_toplevel="dut", test_module="bench", test_dir=".")
"""


def python_of(cocotb_version: CocotbVersion) -> Path:
    return find_toolchain().harness(cocotb_version).home / "bin" / "python"


@pytest.fixture(scope="module", params=[ONE, TWO])
def seen(request: pytest.FixtureRequest) -> tuple[CocotbVersion, dict[str, str]]:
    """Every piece of code, run in a simulation under one generation: the error that it raised, or nothing."""
    cocotb_version: CocotbVersion = request.param
    return cocotb_version, asyncio.run(_found(cocotb_version))


async def _found(cocotb_version: CocotbVersion) -> dict[str, str]:
    """In a box, which is where the tools run; without the grader's probe, which adds to 2.0.1."""
    tools = find_toolchain()
    codes = [*SHOWN.values(), *BOTH, *NEITHER]
    files = {"dut.sv": DESIGN, "bench.py": BENCH, "run.py": RUN, "codes.json": json.dumps(codes)}
    spec = BoxSpec(mounts=tools.mounts(cocotb_version), links=tools.links())
    async with BubblewrapSandbox(slots=1).open(spec) as box:
        for name, text in files.items():
            await box.write(f"/code/{name}", text.encode())
        env = {**tools.env(cocotb_version), "HOME": "/code", "LANG": "C.UTF-8"}
        ran = await box.run(["python3", "run.py"], cwd="/code", env=env)
        try:
            found: dict[str, str] = json.loads(await box.read("/code/found.json"))
        except FileNotFoundError:
            pytest.fail((ran.stdout + ran.stderr).decode(errors="replace"))
    return found


def test_each_sign_works_where_it_points_to_only(seen: tuple[CocotbVersion, dict[str, str]]) -> None:
    cocotb_version, found = seen
    for sign in TABLE:
        if sign.weight is not Weight.NONE:
            error = found[SHOWN[sign.name]]
            assert bool(error) == (sign.favours is not cocotb_version), (sign.name, cocotb_version, error)


def test_what_decides_nothing_is_alike(seen: tuple[CocotbVersion, dict[str, str]]) -> None:
    _, found = seen
    assert {code: found[code] for code in BOTH} == dict.fromkeys(BOTH, "")
    assert all(found[code] for code in NEITHER)


def test_the_names_are_those_that_only_one_generation_has() -> None:
    have = {cocotb_version: _names(cocotb_version) for cocotb_version in (ONE, TWO)}
    for modules, names, cocotb_version, other in ((MODULES_1, NAMES_1, ONE, TWO), (MODULES_2, NAMES_2, TWO, ONE)):
        for module in modules:
            assert have[cocotb_version].get(module) is not None, module
            assert have[other].get(module) is None, module
        for module, own in names.items():
            assert own <= set(have[cocotb_version][module]), module
            assert not own & set(have[other][module]), module
    assert set(have[ONE]["BinaryValue"]) >= VALUE_1 | VALUE_OLD
    assert not set(have[TWO]["LogicArray"]) & VALUE_1
    assert set(have[TWO]["LogicArray"]) >= VALUE_2 | VALUE_OLD
    assert not set(have[ONE]["BinaryValue"]) & VALUE_2


def _names(cocotb_version: CocotbVersion) -> dict[str, Any]:
    """Modules with their names: what can be found, not what imports, since a few want other packages."""
    modules = sorted({*MODULES_1, *MODULES_2, *NAMES_1, *NAMES_2})
    code = f"""
import importlib, importlib.util, json, warnings
warnings.simplefilter("ignore")
import cocotb
def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
found = {{}}
for module in {modules!r}:
    if has(module):
        try:
            found[module] = dir(importlib.import_module(module))
        except ImportError:
            found[module] = []
try:
    from cocotb.binary import BinaryValue
    found["BinaryValue"] = [*dir(BinaryValue), *dir(BinaryValue(value=1, n_bits=1))]
except ImportError:
    from cocotb.types import LogicArray
    found["LogicArray"] = dir(LogicArray)
print(json.dumps(found))
"""
    ran = subprocess.run([python_of(cocotb_version), "-c", code], capture_output=True, text=True, check=True)
    names: dict[str, Any] = json.loads(ran.stdout)
    return names

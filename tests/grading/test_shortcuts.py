"""What the fast path does in another way than cocotb, pytest and the compiler do it, held against the exact path."""

from dataclasses import replace

import pytest

from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.problems import CocotbVersion
from tests.grading.test_grader import INVERTER, WIRE, plain

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "test_runner",
    [
        "import pytest\n@pytest.fixture\ndef width():\n    return 1\ndef test_dut(width):\n    run()\n",
        "class TestDut:\n    def test_one(self):\n        run()\n    def test_two(self):\n        run()\n",
        "import pytest\n@pytest.mark.parametrize('a', [1, 2])\n@pytest.mark.parametrize('b', ['x', 'y'], ids=str)\n"
        "def test_dut(a, b):\n    run()\n",
        "import pytest\n@pytest.mark.skip\ndef test_not():\n    run()\ndef test_dut():\n    run(plusargs=['+a=1'])\n",
        "def test_dut():\n    run()\n    assert 1 == 2, 'no good'\n",
        "def test_dut():\n    raise KeyError('lost')\n",
        "import no_such_module\ndef test_dut():\n    run()\n",
        "import pytest\ndef test_dut():\n    pytest.skip('later')\ndef test_more():\n    run()\n",
        "import pytest\ndef test_dut():\n    pytest.fail('said so')\n",
        "x = 1\n",
    ],
    ids=["fixture", "class", "stacked", "skip-mark", "assert", "error", "import", "skip", "fail", "no-tests"],
)
async def test_any_harness_gets_the_same_grade_on_both_paths(
    test_runner: str, graders: dict[SimulationMode, Grader]
) -> None:
    """With or without a pytest session: items, outcomes and messages are the same."""
    problem = plain(test_runner)
    for source in (INVERTER, WIRE):
        submission = submit(problem, {"rtl/dut.sv": source})
        exact, fast = [
            await graders[path].grade(problem, submission) for path in (SimulationMode.EXACT, SimulationMode.FAST)
        ]
        assert fast.path == "fast"
        assert fast.outcome == exact.outcome, (exact.reasons, fast.reasons, fast.log)
        assert fast.tests == exact.tests
        assert fast.reasons == exact.reasons


_LOOP = """
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, Event, First, FallingEdge, NextTimeStep, ReadOnly, ReadWrite, RisingEdge, Timer
from cocotb.utils import get_sim_time

def now(dut):
    return f"{get_sim_time('ns'):g} a={dut.a.value} y={dut.y.value}"

async def edges(dut, said, count):
    for _ in range(count):
        await RisingEdge(dut.y)
        said.append("rise " + now(dut))
        await FallingEdge(dut.y)
        said.append("fall " + now(dut))

@cocotb.test()
async def clock_stopped_and_started(dut):
    said = []
    task = cocotb.start_soon(Clock(dut.a, 10, UNIT="ns").start(start_high=False))
    watch = cocotb.start_soon(edges(dut, said, 3))
    await Timer(33, UNIT="ns")
    task.kill()
    await Timer(50, UNIT="ns")
    said.append("still " + now(dut))
    cocotb.start_soon(Clock(dut.a, 6, UNIT="ns").start())
    await watch
    await Timer(1, UNIT="ns")
    assert False, "; ".join(said)

@cocotb.test()
async def written_twice_and_in_each_phase(dut):
    said = []
    dut.a.value = 1
    dut.a.value = 0
    said.append("before " + now(dut))
    await ReadWrite()
    said.append("write " + now(dut))
    dut.a.value = 1
    said.append("at once " + now(dut))
    await ReadOnly()
    said.append("read " + now(dut))
    try:
        dut.a.value = 0
        said.append("no error")
    except Exception as error:
        said.append(type(error).__name__)
    await NextTimeStep()
    dut.a.value = 0
    await Timer(2, UNIT="ns")
    assert False, "; ".join(said + [now(dut)])

@cocotb.test()
async def waiting_for_a_phase_is_given_up(dut):
    said = []
    async def wait(name):
        await ReadWrite()
        said.append(name + " " + now(dut))
    first, second = cocotb.start_soon(wait("first")), cocotb.start_soon(wait("second"))
    async def end():
        dut.a.value = 1
        first.kill()
    cocotb.start_soon(end())
    await Timer(1, UNIT="ns")
    third = cocotb.start_soon(wait("third"))
    await First(third, Timer(5, UNIT="ns"))
    event = Event()
    async def later():
        await Timer(3, UNIT="ns")
        event.set()
    cocotb.start_soon(later())
    await event.wait()
    assert False, "; ".join(said + [now(dut)])

@cocotb.test()
async def an_error_in_another_task(dut):
    async def fails():
        dut.a.value = 0
        await Timer(4, UNIT="ns")
        dut.a.value = 1
        await RisingEdge(dut.a)
        raise KeyError("lost at " + now(dut))
    cocotb.start_soon(Clock(dut.y, 2, UNIT="ns").start())
    cocotb.start_soon(fails())
    await Timer(100, UNIT="ns")

@cocotb.test()
async def several_at_one_edge(dut):
    said = []
    async def each(name):
        while True:
            await RisingEdge(dut.a)
            said.append(name)
            if len(said) > 6:
                return
    cocotb.start_soon(Clock(dut.a, 4, UNIT="ns").start())
    tasks = [cocotb.start_soon(each(name)) for name in "xyz"]
    await Combine(*tasks)
    assert False, f"{said} {now(dut)}"

@cocotb.test()
async def what_cannot_be_awaited(dut):
    try:
        await 3
    except Exception as error:
        assert False, type(error).__name__

@cocotb.test(timeout_time=20, timeout_unit="ns")
async def takes_too_long(dut):
    cocotb.start_soon(Clock(dut.a, 4, UNIT="ns").start())
    while True:
        await FallingEdge(dut.a)

@cocotb.test()
async def nothing_is_left_of_the_tests_before(dut):
    before = now(dut)
    await Timer(7, UNIT="ns")
    assert False, before + "; " + now(dut)
"""


@pytest.mark.parametrize(("version", "unit"), [(CocotbVersion.V2, "unit"), (CocotbVersion.V1, "units")])
async def test_the_shortened_loop_of_cocotb_does_what_the_original_does(
    version: CocotbVersion, unit: str, graders: dict[SimulationMode, Grader]
) -> None:
    """Messages tell the order of everything that happened, with times and values."""
    problem = plain(checks=_LOOP.replace("UNIT", unit))
    problem = replace(problem, harness=replace(problem.harness, cocotb_version=version))
    submission = submit(problem, {"rtl/dut.sv": INVERTER})
    exact, fast = [
        await graders[path].grade(problem, submission) for path in (SimulationMode.EXACT, SimulationMode.FAST)
    ]
    assert len([test for test in exact.tests if test.item]) == 8, exact.log
    assert fast.path == "fast"
    assert fast.tests == exact.tests


_WIDE = """
module dut(input a, output y);
  logic [7:0] byte_in, up; logic [0:3] rising; logic [63:0] wide; logic [1:0][3:0] packed_array; logic z, one;
  logic [7:0] memory [0:3]; logic signed [7:0] low; localparam CONST = 5;
  assign up = byte_in + 1; assign y = ~a;
  initial begin one = 1; z = 1'bz; low = -3; wide = 64'h8000_0000_0000_0001; end
  initial begin rising = 4'b01x1; memory[1] = 8'h7f; packed_array = 8'b1010_01zx; end
  if (1) begin : inner
    logic [2:0] deep = 3'd6;
  end
endmodule
"""
_VALUES = """
import cocotb, operator
from cocotb.triggers import FallingEdge, First, ReadOnly, RisingEdge, Timer

def tried(act):
    try:
        return repr(act())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def looked_at(value):
    found = [repr(value), str(value), tried(lambda: int(value)), tried(lambda: len(value)), tried(lambda: bool(value)),
             tried(lambda: list(value)), tried(lambda: value[0]), tried(lambda: value[2:1]), tried(lambda: hex(value)),
             tried(lambda: hash(value)), tried(lambda: value.is_resolvable), tried(lambda: value.to_unsigned()),
             tried(lambda: value.to_signed()), tried(lambda: value.range), tried(lambda: value.integer),
             tried(lambda: [value == other for other in (0, 1, True, 5, "1", "01X1", "01x1", value, [1], None, 1.0)]),
             tried(lambda: value != 3), tried(lambda: value + 1), tried(lambda: value & 1),
             tried(lambda: range(9)[value])]
    return found

def changed(value):
    value[0] = 1
    after = looked_at(value)
    value[:] = "1" * len(value)
    return after + looked_at(value)

NAMES = ("a", "y", "byte_in", "up", "rising", "wide", "packed_array", "z", "one", "low", "CONST")

@cocotb.test()
async def read(dut):
    await Timer(1, UNIT="ns")
    said = [looked_at(getattr(dut, name).value) for name in NAMES]
    said += [tried(lambda: changed(getattr(dut, name).value)) for name in NAMES]
    said += [looked_at(dut.inner.deep.value), tried(lambda: dut.memory[1].value), tried(lambda: dut.memory.value)]
    said.append(tried(lambda: dut.nothing))
    for number, part in enumerate(said):
        for piece in part if isinstance(part, list) else [part]:
            dut._log.info(piece)
    import zlib
    assert False, str(zlib.crc32(repr(said).encode())) + repr(said)[:3000]

@cocotb.test()
async def write(dut):
    said = []
    for name in NAMES:
        for value in (0, 1, True, -1, -128, -129, 5, 255, 256, 2**40, 2**64, -2**63, "1", "01xz", "x", 1.0, None):
            signal = getattr(dut, name)
            said.append(tried(lambda: setattr(signal, "value", value)))
            said.append(tried(lambda: signal.set(value)) if hasattr(signal, "set") else "")
            await Timer(1, UNIT="ns")
            said.append((name, value, str(signal.value), str(dut.up.value)))
    said.append(tried(lambda: setattr(dut, "a", 1)))
    dut.byte_in.value = 9
    dut.byte_in.value = 10
    said.append(str(dut.byte_in.value))
    await ReadOnly()
    said.append(str(dut.byte_in.value))
    said.append(tried(lambda: setattr(dut.byte_in, "value", 3)))
    await Timer(1, UNIT="ns")
    import zlib
    assert False, str(zlib.crc32(repr(said).encode())) + repr(said)[:3000]

@cocotb.test()
async def children(dut):
    before = dut.one, dut.inner, dut.inner.deep
    said = [hasattr(dut, "one"), hasattr(dut, "two"), dut.one is dut.one]
    names = sorted(child._name for child in dut)
    said += [names, dut.one == before[0], dut.one is before[0], dut.inner.deep is before[2]]
    said.append(sorted(set(NAMES) & set(dir(dut))))
    dut.one.value = 0
    said.append(await First(FallingEdge(dut.one), FallingEdge(before[0])) is not None)
    assert False, repr(said)
"""


@pytest.mark.parametrize(("version", "unit"), [(CocotbVersion.V2, "unit"), (CocotbVersion.V1, "units")])
async def test_values_are_what_they_are_in_the_original(
    version: CocotbVersion, unit: str, graders: dict[SimulationMode, Grader]
) -> None:
    """Read, compared, converted, changed, written, of every kind of signal: a checksum of it all, and its beginning."""
    problem = plain(checks=_VALUES.replace("UNIT", unit))
    problem = replace(problem, harness=replace(problem.harness, cocotb_version=version))
    submission = submit(problem, {"rtl/dut.sv": _WIDE})
    exact, fast = [
        await graders[path].grade(problem, submission) for path in (SimulationMode.EXACT, SimulationMode.FAST)
    ]
    assert len([test for test in exact.tests if test.item]) == 3, exact.log
    assert fast.path == "fast"
    assert fast.tests == exact.tests


@pytest.mark.parametrize("version", [CocotbVersion.V2, CocotbVersion.V1])
async def test_what_cocotb_reads_from_the_environment_when_it_is_imported_counts(
    version: CocotbVersion, graders: dict[SimulationMode, Grader]
) -> None:
    checks = (
        "import cocotb\nfrom cocotb.triggers import Timer\n@cocotb.test()\nasync def reads(dut):\n"
        "    await Timer(1)\n    assert False, str(int(dut.u.value)) + str(getattr(cocotb, 'LANGUAGE', None))\n"
    )
    problem = plain("def test_dut():\n    run(extra_env={'COCOTB_RESOLVE_X': 'ZEROS'})\n", checks)
    problem = replace(problem, harness=replace(problem.harness, cocotb_version=version))
    unknown = "module dut(input a, output y);\n  assign y = a;\n  logic [1:0] u = 2'b1x;\nendmodule\n"
    exact, fast = [
        await graders[path].grade(problem, submit(problem, {"rtl/dut.sv": unknown}))
        for path in (SimulationMode.EXACT, SimulationMode.FAST)
    ]
    assert "2" in "".join(exact.reasons), exact.reasons
    assert fast.tests == exact.tests


_COMPILES = """
import os, subprocess
def compiled(text, *options, **more):
    with open("extra.sv", "w") as stream:
        stream.write(text)
    if os.path.exists("extra.vvp"):
        os.unlink("extra.vvp")
    done = subprocess.run(["iverilog", "-g2012", "-o", "extra.vvp", *options, "extra.sv"], **more)
    assert done.returncode == 0 and os.access("extra.vvp", os.X_OK)
    with open("extra.vvp") as stream:
        return stream.read()
def module(word):
    return f'module extra; initial $display("{word}"); endmodule\\n'
def test_dut():
    run()
"""


@pytest.mark.parametrize(
    "body",
    [
        "assert compiled(module('one')) == compiled(module('one'))\n",
        "assert 'one' in compiled(module('one'))\n    assert 'two' in compiled(module('two'))\n",
        "text = 'module extra #(parameter P = 1); initial $display(P); endmodule'\n"
        "    assert compiled(text, '-Pextra.P=2') == compiled(text, '-Pextra.P=2') != compiled(text, '-Pextra.P=3')\n",
        "for word in ('one', 'two'):\n        open('late.svh', 'w').write(module(word))\n"
        "        assert word in compiled('`include \"late.svh\"\\n')\n",
        "for word in ('one', 'two'):\n        open('list.f', 'w').write(f'+define+WORD=\"{word}\"\\n')\n"
        "        assert word in compiled('module extra; initial $display(`WORD); endmodule\\n', '-f', 'list.f')\n",
        "text = 'module extra(input [1:0] a); other o(a); endmodule\\nmodule other(input a); endmodule\\n'\n"
        "    said = []\n    for name in ('a.log', 'b.log'):\n        with open(name, 'w') as log:\n"
        "            compiled(text, '-Wall', stdout=log, stderr=subprocess.STDOUT)\n"
        "        said.append(open(name).read())\n    assert said[0] == said[1] != ''\n",
    ],
    ids=["equal", "changed", "options", "included", "listed", "warnings"],
)
async def test_a_harness_that_compiles_twice_gets_what_it_asks_for(
    body: str, graders: dict[SimulationMode, Grader]
) -> None:
    """Equal sources are compiled once in a job; whatever differs is not equal."""
    problem = plain(f"{_COMPILES}    {body}")
    grade = await graders[SimulationMode.FAST].grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
    assert (grade.path, grade.outcome) == ("fast", Outcome.PASSED), (grade.reasons, grade.log)

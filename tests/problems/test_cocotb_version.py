"""Which cocotb generation a harness gets: each sign is found where it is, and nowhere else; the heaviest decides."""

import pytest

from rtl_agent.problems import CocotbVersion
from rtl_agent.problems.cocotb_version import TABLE, Weight, decide
from rtl_agent.problems.cocotb_version.find import signs_in

ONE, TWO = CocotbVersion.V1, CocotbVersion.V2
QUIET = {sign.name for sign in TABLE if sign.weight == Weight.NONE}


def in_a_test(body: str, parameters: str = "dut") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import cocotb\n@cocotb.test()\nasync def test_it({parameters}):\n{lines}\n"


def found(text: str) -> set[str]:
    return {name for name, _ in signs_in(text)}


@pytest.mark.parametrize(
    "body",
    [
        "assert dut.x.value[39:20] == 5",
        "x = int(dut.x.value[7:4])",
        "v = dut.x.value\nassert v[7:4] == 1",
        "v = w = dut.x.value\nassert w[7:4] == 1",
        "sig = dut.x\nassert sig.value[7:4] == 1",
        "sig = getattr(dut, 'x')\nassert sig.value[7:4] == 1",
        "sig = dut._id('x', extended=False)\nassert sig.value[7:4] == 1",
        "assert cocotb.top.x.value[7:4] == 1",
        "a, b = dut.a.value, dut.b.value\nassert b[7:4] == 1",
        "W = 8\nassert dut.x.value[W-1:0] == 1",
        "assert dut.x.value[WIDTH - 2 : 0] == 1",
        "for i in range(4):\n    assert dut.x.value[i*8+7 : i*8] == i",
        "for i in range(4):\n    assert dut.x.value[8*(i+1)-1 : 8*i] == i",
        "for i in range(4):\n    assert dut.x.value[(i+1)*W-1 : i*W] == i",
        "for i in range(4):\n    lo = i * W\n    hi = lo + W - 1\n    assert dut.x.value[hi:lo] == i",
        "assert dut.mem[3].value[7:4] == 1",
        "assert dut.u_core.state.value[7:4] == 1",
        "return [dut.x.value[i+3:i] for i in range(4)]",
        "parts = {i: dut.x.value[i+3:i] for i in range(4)}",
        "check = lambda v: dut.x.value[7:4]",
        "if dut.y.value:\n    v = dut.x.value\nelse:\n    v = dut.z.value\nassert v[7:4] == 1",
        "try:\n    v = dut.x.value\nfinally:\n    pass\nassert v[7:4] == 1",
        "assert dut.x.value[7:4].integer == 1",
        "assert (await read(dut)).value[7:4] == 1",
        "while True:\n    assert dut.x.value[7:4] == 1",
        "assert dut.x.value[W-1:W//2] == 1 and dut.x.value[W//2-1:0] == 2",
        "assert dut.x.value[2**N-1:0] == 1",
        "assert dut.x.value[(1 << N) - 1 : N] == 1",
        "assert dut.x.value[msb:lsb] == 1",
        "assert dut.x.value[real_hi:real_lo] == 1",
        "for start, stop in [(39, 20), (19, 0)]:\n    assert dut.x.value[start:stop] == 1",
        "W = int(dut.WIDTH.value)\nassert dut.x.value[W-1:W-4] == 1",
        "n = len(dut.x.value)\nassert dut.x.value[n-1:n-4] == 1",
    ],
)
def test_a_descending_slice_of_a_value_is_found(body: str) -> None:
    text = in_a_test(body)
    assert "descending-slice" in found(text), text
    old = "from cocotb.runner import get_runner\nfrom cocotb.result import TestFailure\n"
    for first in ("", old, f"{old}y = dut.y.value.integer\n"):
        assert decide({"src/test_it.py": first + text}).cocotb_version is TWO


@pytest.mark.parametrize(
    "text",
    [
        "def field(value, hi, lo):\n    return value[hi:lo]\n" + in_a_test("assert field(dut.x.value, 39, 20) == 1"),
        "def field(value, lo, width):\n    return value[lo + width - 1 : lo]\n"
        + in_a_test("assert field(value=dut.x.value, lo=8, width=8) == 1"),
        "def field(sig):\n    return sig.value[39:20]\n" + in_a_test("assert field(dut.x) == 1"),
        "def read(dut):\n    return dut.x.value\n" + in_a_test("assert read(dut)[39:20] == 1"),
        "class Model:\n    def __init__(self, dut):\n        self.out = dut.x\n"
        "    def top(self):\n        return self.out.value[39:20]\n",
        "class Model:\n    def top(self):\n        return self.dut.x.value[39:20]\n",
        in_a_test("assert top.x.value[39:20] == 1", parameters="top"),
        "FIRST = 39\nLAST = 20\n" + in_a_test("assert dut.x.value[FIRST:LAST] == 1"),
    ],
)
def test_a_value_is_followed_through_functions_and_objects(text: str) -> None:
    assert "descending-slice" in found(text), text


@pytest.mark.parametrize(
    "body",
    [
        "text = '00001111'\nassert text[7:4] == ''",
        "v = int(dut.x.value)\nbits = f'{v:08b}'\nassert bits[0:4] == '1010'",
        "bits = str(dut.x.value)\nassert bits[0:4] == '1010'",
        "bits = dut.x.value.binstr\nassert bits[0:4] == '1010' or bits[7:4]",
        "v = dut.x.value\nv = bin(v)\nassert v[0:4]",
        "v = dut.x.value\nif flag:\n    v = [1, 2, 3]\nassert v[0:2]",
        "expected = model(dut)\nassert expected[0:4] == 1 and expected[7:4]",
        "data = [int(b) for b in dut.x.value]\nassert data[0:4] == [1]",
        "def unrelated(value):\n    return value[3:0]",
        "assert dut.x.value[start:stop] == 1",
        "assert dut.x.value[a // 2 : b // 2] == 1",
        "assert dut.x.value[1 << (1 << (1 << 40)) : 0 ** n] == 1",
        "assert dut.x.value[3:3] == 1",
        "assert dut.x.value[-4:-1] == 1",
        "class Colour(Enum):\n    RED = '0101'\nassert Colour.RED.value[0:2] == '01'",
        "assert Opcode.ADD.value + 1 == 2",
        "for op in Opcode:\n    assert op.value + 1 and op.value << 4",
        "assert (dut.x.value.to_signed if flag else 0) or True",
    ],
)
def test_what_is_no_slice_and_no_arithmetic_of_a_value_is_left_alone(body: str) -> None:
    text = "from enums import Opcode\n" + in_a_test(body)
    assert not found(text) & {"descending-slice", "ascending-slice", "arithmetic", "open-slice"}, found(text)


SIGNS = [
    ("ascending-slice", "assert dut.x.value[0:3] == 1"),
    ("ascending-slice", "assert dut.x.value[0:W-1] == 1"),
    ("ascending-slice", "assert dut.x.value[0:W//2-1] == 1"),
    ("ascending-slice", "assert dut.x.value[low:high] == 1"),
    ("ascending-slice", "for i in range(4):\n    assert dut.x.value[4*i : 4*i+3] == 1"),
    ("open-slice", "assert dut.x.value[4:] == 1"),
    ("open-slice", "assert dut.x.value[:4] == 1"),
    ("step-slice", "assert dut.x.value[::-1] == 1"),
    ("negative-index", "assert dut.x.value[-1] == 1"),
    ("index", "assert dut.x.value[0] == 1"),
    ("arithmetic", "y = dut.x.value + 1"),
    ("arithmetic", "y = 1 + dut.x.value"),
    ("arithmetic", "y = 1 << dut.x.value"),
    ("arithmetic", "v = dut.x.value\ny = (v >> 4) % 2"),
    ("arithmetic", "y = -dut.x.value"),
    ("arithmetic", "y = abs(dut.x.value)"),
    ("arithmetic", "y = divmod(dut.x.value, 16)"),
    ("bits-with-int", "y = dut.x.value & 0xF"),
    ("bits-with-int", "y = 1 ^ dut.x.value"),
    ("bits", "y = dut.x.value & dut.y.value"),
    ("inverted", "y = ~dut.x.value"),
    ("inverted-number", "assert ~dut.x.value == 0x5A"),
    ("inverted-number", "y = ~dut.x.value & 0xFF"),
    ("order", "assert dut.x.value > 3"),
    ("handle-compared", "assert dut.x == 1"),
    ("handle-compared", "sig = dut.x\nassert sig != 0"),
    ("handle-assigned", "dut.x = 1"),
    ("handle-assigned", "dut.x <= 1"),
    ("handle-assigned", "dut.mem[0] = 1"),
    ("bit-handle", "a = dut.x[0].value\nb = int(dut.x.value)"),
    ("bit-handle", "dut.x.value = 0\ndut.x[3].value = 1"),
    ("handle-attributes", "high, low = dut.x._range"),
    ("handle-attributes", "dut.log.info('x')"),
    ("handle-attributes", "assert dut.x.drivers()"),
    ("only-2-handle-attributes", "assert dut.x.range.left == 7"),
    ("only-2-handle-attributes", "await dut.clk.rising_edge"),
    ("only-2-handle-attributes", "dut.x.set(3)"),
    ("only-1-task-attributes", "task = cocotb.start_soon(f())\nassert task.retval == 1"),
    ("only-1-task-attributes", "clock = Clock(dut.clk, 10)\nprint(clock.frequency)"),
    ("only-2-task-attributes", "task = cocotb.start_soon(f())\nawait task.complete"),
    ("logic-types", "from cocotb.types import LogicArray, Range"),
    ("clock-started", "Clock(dut.clk, 10, 'ns').start()"),
    ("clock-started", "clock = Clock(dut.clk, 10, 'ns')\nclock.start()"),
    ("clock-started", "clock = Clock(dut.clk, 10, 'ns')\ncocotb.start_soon(clock.start())\nclock.stop()"),
    ("written-text", "dut.x.value = '1010'"),
    ("written-text", "dut.x.value = f'{n:08b}'"),
    ("written-tuple", "dut.mem.value = (1, 2)"),
    ("only-2-conversions", "y = dut.x.value.to_unsigned()"),
    ("only-2-conversions", "v = read()\ny = v.to_signed()"),
    ("only-2-conversions", "y = dut.x.value.to_bytes(byteorder='big')"),
    ("only-2-conversions", "y = LogicArray.from_unsigned(5, 8)"),
    ("only-1-attributes", "y = dut.x.value.n_bits"),
    ("only-1-attributes", "y = dut.x.value.value"),
    ("only-1-attributes", "y = dut.x.value.get_value_signed()"),
    ("old-attributes", "y = dut.x.value.integer"),
    ("old-attributes", "y = dut.x.value.binstr"),
    ("lower-case-x", "assert 'x' not in str(dut.x.value)"),
    ("lower-case-x", "assert 'z' not in dut.x.value.binstr"),
    ("lower-case-x", "s = str(dut.x.value)\nassert s != 'x'"),
    ("lower-case-x", "assert 'x' not in f'{dut.x.value}'"),
    ("lower-case-x", "assert str(dut.x.value).count('x') == 0"),
    ("lower-case-x", "y = int(str(dut.x.value).replace('x', '0'), 2)"),
    ("lower-case-x", "assert not any(c in 'xz' for c in str(dut.x.value))"),
    ("lower-case-x", "for c in dut.x.value.binstr:\n    assert c not in ('x', 'z')"),
    ("lower-case-x", "assert set(str(dut.x.value)) != {'x'}"),
    ("upper-case-x", "assert str(dut.x.value).startswith('X')"),
    ("upper-case-x", "assert 'X' not in str(dut.x.value)"),
    ("upper-case-x", "assert dut.x.value != 'X'"),
    ("unit", "c = Clock(dut.clk, 10, unit='ns')"),
    ("unit", "await Timer(1, unit='ns')"),
    ("units", "await Timer(1, units='ns')"),
    ("clock-options", "c = Clock(dut.clk, 10, 'ns', impl='py')"),
    ("clock-cycles", "cocotb.start_soon(Clock(dut.clk, 10).start(cycles=5))"),
    ("timer-zero", "await Timer(0)"),
    ("only-2-names", "cocotb.pass_test()"),
    ("only-2-names", "from cocotb.triggers import ValueChange"),
    ("only-2-names", "import cocotb.simtime"),
    ("only-2-names", "from cocotb.triggers import *\nawait ValueChange(dut.x)"),
    ("only-1-names", "from cocotb.triggers import *\nawait Join(task)"),
    ("only-1-names", "cocotb.fork(f())"),
    ("only-1-names", "raise cocotb.result.TestFailure('no')"),
    ("only-1-names", "from cocotb.binary import BinaryValue"),
    ("only-1-names", "from cocotb.handle import ModifiableObject"),
    ("define-without-value", "runner.build(defines={'SIM': None})"),
    ("define-with-text", "runner.build(defines={'WIDTH': '8'})"),
    ("runner-1", "from cocotb.runner import get_runner"),
    ("runner-1", "import cocotb.runner"),
    ("runner-2", "from cocotb_tools.runner import get_runner"),
    ("runner-2", "from cocotb_tools import runner"),
]


@pytest.mark.parametrize(("sign", "body"), SIGNS)
def test_every_sign_is_found(sign: str, body: str) -> None:
    assert sign in found(in_a_test(body))


def test_every_row_of_the_table_that_decides_has_a_case_here() -> None:
    cases = {sign for sign, _ in SIGNS}
    for sign in TABLE:
        assert sign.name in cases or sign.weight is Weight.NONE or sign.name == "descending-slice", sign.name
        assert (sign.favours is None) == (sign.weight is Weight.NONE), sign.name
        assert all((sign.reason, sign.in_1, sign.in_2))


@pytest.mark.parametrize(
    ("body", "sign"),
    [
        ("assert dut.x.value == 'x'", "lower-case-x"),  # 2.x takes any case here
        ("assert 'x' not in str(dut.x.value).lower()", "lower-case-x"),
        ("assert 'x' not in 'text'", "lower-case-x"),
        ("assert not any(c in 'xXzZ' for c in str(dut.x.value))", "lower-case-x"),
        ("assert str(dut.x.value).lower().count('x') == 0", "lower-case-x"),
        ("assert ~dut.x.value == '0101'", "inverted-number"),
        ("y = ~int(dut.x.value) & 0xFF", "inverted-number"),
        ("cocotb.start_soon(Clock(dut.clk, 10, 'ns').start())", "clock-started"),
        ("await cocotb.start(Clock(dut.clk, 10, 'ns').start())", "clock-started"),
        ("model = Model()\nmodel.start()", "clock-started"),
        ("from cocotb.triggers import *\nfrom decimal import Decimal\ny = Decimal(1)", "only-1-names"),
        ("y = (5).to_bytes(2, 'big')", "only-2-conversions"),
        ("y = int(dut.x.value).to_bytes(2, 'big')", "only-2-conversions"),
        ("y = dut.log.value", "handle-attributes"),
        ("y = config.get('x')", "only-2-handle-attributes"),
        ("assert dut.x is None or dut.x == None", "handle-compared"),
        ("assert dut.x.value == 1", "handle-compared"),
        ("dut._note = 1", "handle-assigned"),
        ("dut.x.value <= 3", "handle-assigned"),
        ("a = dut.mem[0].value", "bit-handle"),
        ("a = dut['x'].value\nb = int(dut.value)", "bit-handle"),
        ("print('%d' % dut.x.value)", "arithmetic"),
        ("print('got ' + dut.x.value)", "arithmetic"),
        ("y = int(dut.x.value) + 1", "arithmetic"),
        ("y = dut.x.value.integer + 1", "arithmetic"),
        ("y = int(dut.x.value) & 0xF", "bits-with-int"),
        ("cocotb.log.info('x')", "only-1-names"),
        ("import numpy.binary", "only-1-names"),
        ("await Timer(0.5, 'ns')", "timer-zero"),
        ("await start(cycles)", "clock-cycles"),
        ("runner.build(defines={'SIM': 1})", "define-with-text"),
    ],
)
def test_what_only_looks_like_a_sign_is_none(body: str, sign: str) -> None:
    assert sign not in found(in_a_test(body))


@pytest.mark.parametrize(
    ("lines", "cocotb_version"),
    [
        ([], TWO),
        (["from cocotb.runner import get_runner"], ONE),
        (["from cocotb_tools.runner import get_runner"], TWO),
        (["from cocotb.runner import get_runner", "from cocotb_tools.runner import get_runner"], TWO),
        (["from cocotb_tools.runner import get_runner", "y = dut.y.value.integer"], ONE),
        (["from cocotb.runner import get_runner", "y = dut.x.value.to_unsigned()"], TWO),
        (["from cocotb_tools.runner import get_runner", "y = dut.x.value + 1"], ONE),
        (["from cocotb_tools.runner import get_runner", "y = dut.x.value[0:3]"], ONE),
        (["from cocotb_tools.runner import get_runner", "assert dut.x == 1"], ONE),
        (["from cocotb.runner import get_runner", "y = dut.x.value[3:0]"], TWO),
        (["y = dut.y.value.integer", "y = dut.x.value[3:0]"], TWO),  # heavier
        (["y = dut.y.value.integer", "y = dut.x.value[:4]"], TWO),  # as heavy: nothing else speaks for 1.9
        (["from cocotb.runner import get_runner", "y = dut.y.value.integer", "y = dut.x.value[:4]"], ONE),
        (["y = dut.x.value + 1", "y = dut.x.value[3:0]"], TWO),  # both heaviest; 2.0.1 is given the arithmetic
        (["from cocotb.binary import BinaryValue", "y = dut.x.value[3:0]"], TWO),
        (["y = dut.x.value[0]"], TWO),
        (["from cocotb.runner import get_runner", "y = dut.x.value[0]"], ONE),
        (["this is no Python"], TWO),
    ],
)
def test_the_heaviest_sign_decides(lines: list[str], cocotb_version: CocotbVersion) -> None:
    decision = decide({"src/test_it.py": in_a_test("\n".join(lines) or "pass")})
    assert decision.cocotb_version is cocotb_version, decision
    assert decision.reason


def test_signs_of_all_files_count_and_only_of_python() -> None:
    files = {
        "src/test_runner.py": "from cocotb.runner import get_runner\n",
        "src/test_it.py": in_a_test("y = dut.x.value[3:0]"),
        "src/notes.txt": "y = dut.x.value.integer\n",
    }
    decision = decide(files)
    assert decision.cocotb_version is TWO
    assert decision.signs["descending-slice"] == ("src/test_it.py:4",)
    assert set(decision.signs) - QUIET == {"runner-1", "descending-slice"}
    assert not decision.mixed


def test_hostile_depth_ends() -> None:
    assert signs_in("x = " + "(" * 5000 + "1" + ")" * 5000) == ()
    assert signs_in("x = dut" + ".a" * 3000 + ".value[3:0]") is not None
    squares = "\n".join(f"x{i} = x{i - 1} * x{i - 1}" for i in range(99))
    assert isinstance(signs_in(f"{squares}\nv = d.value[x98:0]"), tuple)
    assert isinstance(signs_in("\n".join(f"def f{i}(v): f{i + 1}(v); f{i + 1}(v.a)" for i in range(2000))), tuple)

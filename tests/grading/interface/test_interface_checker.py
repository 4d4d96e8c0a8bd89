"""The checker reads designs with slang in a box, and outlives whatever it is given."""

import asyncio
import random
import time
from pathlib import Path

import pytest

from rtl_agent.grading.interface import InterfaceChecker, expected_interface
from rtl_agent.grading.interface import checker as checker_module
from rtl_agent.problems import load_problems
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.toolchain import Toolchain

GOOD = "module top(input [7:0] a, output b); endmodule\n"
MACROS = "\n".join(f"`define M{n} " + f"`M{n - 1} " * 10 for n in range(1, 20))
HOSTILE = {
    "deep expression": "module top; wire x = " + "(" * 200_000 + "1" + ")" * 200_000 + "; endmodule",
    "deep blocks": "module top; initial " + "begin " * 100_000 + "end " * 100_000 + "endmodule",
    "endless constant function": "module top; function automatic int f(); int i; while (1) i++; return i; endfunction "
    "localparam X = f(); endmodule",
    "generate explosion": "module top; genvar a, b, c; for (a = 0; a < 9000; a++) for (b = 0; b < 9000; b++) "
    "for (c = 0; c < 9000; c++) wire w; endmodule",
    "recursive instances": "module top #(parameter N = 1)(); top #(N + 1) x(); top #(N + 2) y(); endmodule",
    "include of /dev/zero": '`include "/dev/zero"\nmodule top; endmodule',
    "macro bomb": "`define M0 x x x x x x x x\n" + MACROS + "\nmodule top; `M19 endmodule",
    "5 MB of garbage": random.Random(1).randbytes(5 << 20).decode("latin-1"),
    "NUL bytes": "module top(input \0 a);\0\0 endmodule\0",
    "lone surrogates": "module top(input \udc80 a); endmodule \ud800",
    "empty text": "",
    "huge vector": "module top(input [2147483647:0] a); endmodule",
    "200,000 ports": "module top(" + ",".join(f"input p{n}" for n in range(200_000)) + "); endmodule",
    "endless comment": "module top; /* " + "x" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_text_is_answered_in_time_and_the_next_request_works(
    checker: InterfaceChecker, name: str
) -> None:
    await checker.read({"rtl/top.sv": GOOD}, "top")
    started = time.monotonic()
    reading = await checker.read({"rtl/top.sv": HOSTILE[name]}, "top")
    assert time.monotonic() - started < 12
    assert reading.interface is not None or reading.note
    after = await checker.read({"rtl/top.sv": GOOD}, "top")
    assert after.interface is not None
    assert [port.name for port in after.interface.ports] == ["a", "b"]


async def test_ports_parameters_and_names_are_read(checker: InterfaceChecker) -> None:
    text = """
        module sub(output z); endmodule
        module top #(parameter int N = 4, localparam M = N + 1)
                   (input wire clk, input [M-1:0] a, output reg signed [N-1:0] b [2], inout c);
          logic [3:0] state; wire w; sub u_sub(.z(w));
          for (genvar i = 0; i < 2; i++) begin : lane logic q; end
        endmodule
    """
    found = (await checker.read({"rtl/top.sv": text}, "top")).interface
    assert found is not None
    assert [(p.name, p.direction, p.width, p.signed, p.dims) for p in found.ports] == [
        ("clk", "input", 1, False, ()),
        ("a", "input", 5, False, ()),
        ("b", "output", 4, True, ("[0:1]",)),
        ("c", "inout", 1, False, ()),
    ]
    assert [(p.name, p.value, p.local) for p in found.parameters] == [("N", "4", False), ("M", "5", True)]
    assert {"state", "w", "u_sub", "lane"} <= found.internal
    assert found.modules == ("sub", "top")


async def test_old_style_ports_are_read(checker: InterfaceChecker) -> None:
    text = "module top(a, b); input [3:0] a; output b; reg b; parameter P = 9; endmodule"
    found = (await checker.read({"rtl/top.v": text}, "top")).interface
    assert found is not None
    assert [(p.name, p.direction, p.width) for p in found.ports] == [("a", "input", 4), ("b", "output", 1)]
    assert found.parameters[0].name == "P"


async def test_broken_code_still_has_ports_and_says_where_it_is_broken(checker: InterfaceChecker) -> None:
    found = (await checker.read({"rtl/top.sv": "module top(input a, output b);\n  assign b = a &;\n"}, "top")).interface
    assert found is not None
    assert [port.name for port in found.ports] == ["a", "b"]
    assert {(d.file, d.line, d.severity) for d in found.diagnostics} >= {("rtl/top.sv", 2, "error")}


async def test_headers_macros_of_earlier_files_and_other_modules_are_found(checker: InterfaceChecker) -> None:
    files = {
        "rtl/inc/size.svh": "`define W 8\n",
        "rtl/depth.sv": "`define D 3\n",
        "rtl/top.sv": '`include "inc/size.svh"\nmodule top(input [`W-1:0] a, input [`D-1:0] b); sub u(); endmodule\n',
        "rtl/sub.sv": "module sub; endmodule\n",
        "docs/notes.md": "module nonsense",
    }
    found = (await checker.read(files, "top")).interface
    assert found is not None
    assert [port.width for port in found.ports] == [8, 3]
    assert found.diagnostics == ()


async def test_diagnostics_are_capped_with_errors_first(checker: InterfaceChecker) -> None:
    body = "".join(f"  wire [1:0] w{n} = 8'd{n};\n" for n in range(200)) + "  assign = 1;\n"
    found = (await checker.read({"top.sv": f"module top;\n{body}endmodule\n"}, "top")).interface
    assert found is not None
    assert len(found.diagnostics) <= 50
    assert found.diagnostics[0].severity == "error"


async def test_nothing_of_the_host_is_in_the_box(checker: InterfaceChecker, tmp_path: Path) -> None:
    secret = tmp_path / "secret.sv"
    secret.write_text("module hidden; endmodule")
    secret.chmod(0o644)
    found = (await checker.read({"top.sv": f'`include "{secret}"\nmodule top; endmodule\n'}, "top")).interface
    assert found is not None
    assert found.modules == ("top",)


async def test_bundled_references_are_valid_and_empty_files_are_not(checker: InterfaceChecker) -> None:
    for problem in load_problems("bundled"):
        files = {**problem.context, **(problem.reference or {})}
        report = await checker.check(expected_interface(problem.harness), files)
        assert report.valid is True, (problem.id, report)
        nothing = await checker.check(expected_interface(problem.harness), {problem.targets[0]: ""})
        assert nothing.valid is False


async def test_a_harness_that_tells_nothing_gives_an_unknown_report(checker: InterfaceChecker) -> None:
    report = await checker.check((), {"rtl/top.sv": GOOD})
    assert report.valid is None


async def test_many_callers_take_turns(checker: InterfaceChecker) -> None:
    texts = [f"module top(input p{n}); endmodule" for n in range(8)]
    readings = await asyncio.gather(*(checker.read({"top.sv": text}, "top") for text in texts))
    assert [r.interface.ports[0].name for r in readings if r.interface] == [f"p{n}" for n in range(8)]


async def test_a_cancelled_caller_does_not_leave_its_answer_to_the_next(checker: InterfaceChecker) -> None:
    await checker.read({"top.sv": GOOD}, "top")
    slow = asyncio.create_task(checker.read({"top.sv": HOSTILE["macro bomb"]}, "top"))
    await asyncio.sleep(0.3)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    after = await checker.read({"top.sv": GOOD}, "top")
    assert after.interface is not None
    assert len(after.interface.ports) == 2


READY = (
    "import os, sys, time\nfd = int(sys.argv[1])\n" + r"""os.write(fd, b'\0\0\0\2{}')""" + "\nos.read(fd, 1 << 20)\n"
)
BAD_WORKERS = {
    "dies at once": "raise SystemExit('pyslang is missing')",
    "dies on a request": READY,
    "hangs": READY + "time.sleep(60)",
    "answers no JSON": READY + r"os.write(fd, b'\0\0\0\4spam'); time.sleep(60)",
    "answers another form": READY + r"os.write(fd, b'\0\0\0\2[]'); time.sleep(60)",
    "answers without an interface": READY + r"""os.write(fd, b'\0\0\0\x0e{"module": {}}'); time.sleep(60)""",
    "threatens with 4 GB": READY + r"os.write(fd, b'\xff\xff\xff\xff'); time.sleep(60)",
}


@pytest.mark.parametrize("behaviour", BAD_WORKERS)
async def test_a_worker_that_fails_is_replaced(
    behaviour: str, tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "worker.py"
    bad.write_text(BAD_WORKERS[behaviour])
    good = checker_module.WORKER
    monkeypatch.setattr(checker_module, "WORKER", bad)
    python = tools.harness("2.0.1").executable
    checker = InterfaceChecker(BubblewrapSandbox(1), tools.mounts("2.0.1"), python, deadline=2.0)
    try:
        reading = await checker.read({"top.sv": GOOD}, "top")
        assert reading.interface is None
        assert reading.note
        monkeypatch.setattr(checker_module, "WORKER", good)
        assert (await checker.read({"top.sv": GOOD}, "top")).interface is not None
    finally:
        await checker.aclose()


async def test_a_python_that_is_not_there_is_a_note(tools: Toolchain) -> None:
    checker = InterfaceChecker(BubblewrapSandbox(1), tools.mounts("2.0.1"), "/nowhere/python3")
    reading = await checker.read({"top.sv": GOOD}, "top")
    await checker.aclose()
    assert reading.interface is None
    assert "127" in reading.note

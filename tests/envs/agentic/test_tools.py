"""lint and simulate on real files, and what of a command's output an agent is shown."""

from collections.abc import Callable

import pytest

from rtl_agent.envs.agentic.observation import head_and_tail, plain_text
from rtl_agent.envs.agentic.session import AgenticSession, EndReason
from rtl_agent.envs.agentic.tools import tool_specs
from rtl_agent.envs.episode import end_metrics
from rtl_agent.envs.episode_config import Level
from tests.envs.agentic.turns import answer, bash, call, rules, shown, write

in_one_loop = pytest.mark.asyncio(loop_scope="module")
Begin = Callable[..., AgenticSession]

LATCHY = """module part (input logic clk, input logic [7:0] a, output logic [3:0] q, output logic y);
    always_ff @(posedge clk) q <= a;
    always_comb if (a[0]) y = 1;
endmodule
"""
BENCH = """module tb;
    logic clk = 0; logic [7:0] a = 8'h13; logic [3:0] q; logic y;
    part part (.*);
    initial begin
        $display("0 errors so far");
        #1 clk = 1;
        #1 if (q !== 4'hX) $display("FAIL: q is %h", q);
        $display("FAIL: and another");
        $finish;
    end
endmodule
"""
COCOTB = """
from pathlib import Path
import cocotb
from cocotb.triggers import Timer
from cocotb_tools.runner import get_runner

@cocotb.test()
async def q_follows(dut):
    dut.a.value, dut.clk.value = 5, 0
    await Timer(1, "ns")
    dut.clk.value = 1
    await Timer(1, "ns")
    assert int(dut.q.value) == 6, "q is not six"

def test_part():
    runner = get_runner("icarus")
    runner.build(sources=[Path("/code/rtl/part.sv")], hdl_toplevel="part", timescale=("1ns", "1ns"))
    runner.test(hdl_toplevel="part", test_module="bench", test_dir="/code/rundir")
"""


@in_one_loop
async def test_lint_names_faults_before_style(begin: Begin) -> None:
    session = begin(extra_tools=True)
    await shown(session, write("rtl/part.sv", LATCHY))
    lines = (await shown(session, call("lint"))).splitlines()
    assert lines[0] == "It compiles."
    assert {"WIDTHTRUNC", "LATCH"} == {line.rpartition("[")[2].rstrip("]") for line in lines[1:3]}
    assert all(line.startswith("rtl/part.sv:") for line in lines[1:])
    assert len(lines) <= 17
    await shown(session, write("rtl/more.sv", "module more (input a; endmodule"))
    lines = (await shown(session, call("lint"))).splitlines()
    assert lines[0] == "It does not compile."
    assert lines[1].startswith("rtl/more.sv:1: error:")
    assert (await shown(session, call("lint", files=["rtl/part.sv"]))).startswith("It compiles.")


@in_one_loop
async def test_simulate_tells_the_first_failure_of_a_bench_in_verilog(begin: Begin) -> None:
    session = begin(extra_tools=True)
    assert "does not compile" in await shown(session, call("simulate", bench="rundir/tb.sv"))
    await shown(session, write("rtl/part.sv", LATCHY))
    await shown(session, write("rundir/tb.sv", BENCH))
    said = await shown(session, call("simulate", bench="rundir/tb.sv"))
    assert "the first failure, in line 2:\n0 errors so far\nFAIL: q is 3\nOutput:" in said
    await shown(session, write("rundir/tb.sv", BENCH.replace("FAIL", "ok").replace("$finish", '$fatal(1, "stop")')))
    said = await shown(session, call("simulate", bench="/code/rundir/tb.sv"))
    assert "exit code 1" in said
    await shown(session, write("rundir/tb.sv", BENCH.replace("FAIL", "ok")))
    assert "exit code 0; no line speaks of a failure" in await shown(session, call("simulate", bench="rundir/tb.sv"))
    assert "part" not in (await shown(session, call("execute_bash", command="ls rundir"))), "the tool leaves nothing"


@in_one_loop
async def test_a_tool_shows_no_more_than_a_command_however_long_a_line_is(begin: Begin) -> None:
    session = begin(extra_tools=True, shown_characters=400)
    shout = 'module tb; initial begin repeat (5000) $write("FAIL "); $display(""); end endmodule'
    await shown(session, write("rundir/tb.sv", shout))
    said = await shown(session, call("simulate", bench="rundir/tb.sv"))
    assert "the first failure, in line 1:" in said
    assert "characters are left out" in said
    assert len(said) < 500


@in_one_loop
async def test_lint_says_when_a_tool_was_stopped(begin: Begin) -> None:
    session = begin(extra_tools=True, command_seconds=4)
    await shown(session, bash("mkfifo rtl/slow.sv"))
    said = await shown(session, call("lint", files=["rtl/slow.sv"]))  # a pipe that nobody writes to
    assert "[iverilog stopped: it did not end within 4 s]" in said
    assert not said.startswith("It "), "neither that it compiles nor that it does not"
    assert "No warnings" not in said
    await session.take(answer())
    assert session.metrics["commands_timed_out"] >= 1, "a tool's commands are commands"


@in_one_loop
async def test_simulate_runs_a_bench_in_python_with_cocotb(begin: Begin) -> None:
    session = begin(extra_tools=True)
    await shown(session, write("rtl/part.sv", LATCHY))
    await shown(session, write("rundir/bench.py", COCOTB))
    said = await shown(session, call("simulate", bench="rundir/bench.py"))
    assert "exit code 1" in said
    assert "q is not six" in said.partition("Output:")[0]
    await shown(session, write("rundir/bench.py", COCOTB.replace("== 6", "== 5")))
    assert "exit code 0" in await shown(session, call("simulate", bench="rundir/bench.py"))


def test_which_tools_there_are_is_a_matter_of_level_and_switch() -> None:
    names = {
        (level, extra): [spec.name for spec in tool_specs(rules(level=level, extra_tools=extra))]
        for level in Level
        for extra in (False, True)
    }
    shell, every = ["execute_bash"], ["execute_bash", "lint", "simulate", "submit"]
    assert names[Level.SPEC, False] == names[Level.OWN_TESTS, False] == names[Level.OPEN, False] == shell
    assert names[Level.OWN_TESTS, True] == names[Level.FEEDBACK, True] == names[Level.OPEN, True] == every
    assert names[Level.SPEC, True] == names[Level.FEEDBACK, False] == ["execute_bash", "submit"]


def test_output_keeps_head_and_tail_and_says_what_is_missing() -> None:
    assert head_and_tail("short", 10) == "short"
    assert head_and_tail("a" * 50 + "b" * 50, 10) == "aaaaa\n[... 90 characters are left out ...]\nbbbbb"
    assert "most of the output is left out" in head_and_tail("short", 10, lost=True)


def test_output_is_plain_text_whatever_was_printed() -> None:
    assert plain_text(
        b"\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07ok\x00\x07"
    ) == "red\nok\N{REPLACEMENT CHARACTER}" * 1 + ("\N{REPLACEMENT CHARACTER}")
    assert plain_text(b"10%\r50%\r100%\nnext \xff\n\n") == "100%\nnext \N{REPLACEMENT CHARACTER}"


def test_one_end_is_hot() -> None:
    assert end_metrics(EndReason.WALL_TIME)["end/wall_time"] == 1.0
    assert all(sum(end_metrics(reason).values()) == 1.0 for reason in EndReason)


def test_rules_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="max_turns=0"):
        rules(max_turns=0)

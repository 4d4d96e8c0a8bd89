"""What hides code from a linter or a synthesiser fails its service, unless it was given; words about it do not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rtl_agent.grading import Grader, Outcome, submit
from rtl_agent.grading.hiding import calls_out, given_macros
from rtl_agent.grading.same_branches import elaborated_differences
from rtl_agent.grading.same_text import differences, reading
from rtl_agent.problems import Problem
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.toolchain import find_toolchain

in_one_loop = pytest.mark.asyncio(loop_scope="module")  # with the grader that they share
LINT, SYNTH = "rtl_debouncer_0001", "rtl_popcount_0001"


def of(simulator: str, linter: str, given: tuple[str, str] | None = None) -> Sequence[str]:
    before = (reading(given[0]), reading(given[1])) if given else None
    return differences(reading(simulator), reading(linter), ["rtl/debouncer.sv"], before)


def test_comments_and_layout_are_no_difference() -> None:
    assert not of("wire a; // b\n/* c */ wire d;", '`line 1 "debouncer.sv" 1\nwire a;\n\n wire\td;\n')


@pytest.mark.parametrize(
    ("simulator", "linter"),
    [
        ("wire a;", "wire b;"),
        ("wire a; wire b;", "wire a;"),
        ("wire a;", 'wire a; `line 1 "/lib/uvm_x.svh" 0\n'),
        ('`line 9 "debouncer.sv" 0\nwire a;', "wire a;"),
        ("wire a;", "wire a; /*verilator lint_off WIDTH*/"),
        ("`celldefine wire a;", "`celldefine wire a;"),
        ("`pragma protect begin", "`pragma protect begin"),
        ('`begin_keywords "1364-1995"', '`begin_keywords "1364-1995"'),
        ('import "DPI-C" function f;', 'import "DPI-C" function f;'),
    ],
)
def test_what_a_linter_is_told_apart_is_seen(simulator: str, linter: str) -> None:
    assert of(simulator, linter)
    same_text = [token for token in reading(simulator).code] == [token for token in reading(linter).code]
    assert bool(of(simulator, linter, (simulator, linter))) is not same_text  # given files may have had it


@pytest.mark.parametrize(
    "text", ["`timescale 1ns/1ps", "`default_nettype none", "`resetall", '`begin_keywords "1800-2012"']
)
def test_common_directives_are_no_difference(text: str) -> None:
    assert not of(text, text)


def test_long_hostile_text_is_read_in_linear_time() -> None:
    for piece in ("/*", '"', "`", "\\", "/", '`line 1 "'):
        assert reading(piece * 200_000)


def test_macros_of_given_files_are_those_in_their_code(bundled: dict[str, Problem]) -> None:
    text = '`ifdef A\n`elsif B\nwire x = `C; // `ifdef NO\n`endif\nstring s = "`ifdef NO";\n'
    found = given_macros(replace(bundled[LINT], context={"rtl/a.sv": text, "docs/a.md": "`ifdef NO"}))
    assert {"A", "B", "C"} <= found
    assert "NO" not in found


def test_calls_out_of_verilog_are_seen(bundled: dict[str, Problem]) -> None:
    problem = bundled[SYNTH]
    target = problem.targets[0]
    called = 'import "DPI-C" function int exit(int code);\n'
    assert calls_out(problem, submit(problem, {target: called}))
    assert not calls_out(problem, submit(problem, {target: f"// {called}"}))
    given = replace(problem, context={**problem.context, target: called})
    assert not calls_out(given, submit(given, {target: called}))


@in_one_loop
@pytest.mark.parametrize(
    "waiver",
    [
        "// Verilator lint_off WIDTH",
        "/*verilator public*/",
        '`line 7 "rtl/debouncer.sv" 0',
        "`celldefine\n`endcelldefine",
    ],
)
async def test_a_reference_with_a_waiver_fails_lint(waiver: str, bundled: dict[str, Problem], grader: Grader) -> None:
    problem = bundled[LINT]
    assert problem.reference is not None
    waived = {path: f"{waiver}\n{text}" for path, text in problem.reference.items()}
    grade = await grader.grade(problem, submit(problem, waived))
    assert grade.outcome is Outcome.FAILED
    assert any("hidden from a tool" in reason or "warnings are hidden" in reason for reason in grade.reasons)


@in_one_loop
@pytest.mark.parametrize("name", [LINT, SYNTH])
@pytest.mark.parametrize(
    "words",
    [
        "// `clean_out` follows `noisy_in`; `else` it is held",
        "// checked with verilator -Wall; no lint_off, no translate_off",
        "// SYNTHESIS notes, not FORMAL; YOSYS and VERILATOR agree",
        "// synthesis on: any FPGA",
        "/* `define, `ifdef VERILATOR and (* keep *) stand in a comment */",
        "`timescale 1ns/1ps\n`default_nettype wire",
        "`define UNUSED_HERE 8\n`undef UNUSED_HERE",
    ],
)
async def test_honest_words_hide_nothing(name: str, words: str, bundled: dict[str, Problem], grader: Grader) -> None:
    problem = bundled[name]
    assert problem.reference is not None
    commented = {path: f"{words}\n{text}" for path, text in problem.reference.items()}
    grade = await grader.grade(problem, submit(problem, commented))
    assert grade.outcome is Outcome.PASSED, grade.reasons


@in_one_loop
async def test_what_was_given_stays_allowed(bundled: dict[str, Problem], grader: Grader) -> None:
    problem = bundled[LINT]
    assert problem.reference is not None
    target = problem.targets[0]
    pragma = "// Verilator lint_off WIDTHTRUNC\n"
    given = replace(problem, context={**problem.context, target: pragma + problem.context[target]})
    grade = await grader.grade(given, submit(given, {target: pragma + problem.reference[target]}))
    assert grade.outcome is Outcome.PASSED, grade.reasons


GENERATES = """module top #(parameter int N = 3) (input logic [7:0] a, output logic [7:0] y);
  localparam int HALF = N / 2;
  genvar i;
  if (N == 3) assign y[0] = a[0]; else if (N == 4) assign y[0] = a[1]; else begin : other assign y[0] = 0; end
  case (HALF) 0, 1: begin assign y[1] = 1; end default: assign y[1] = 0; endcase
  for (i = 2; i < 8; i = i + 1) if (i < N) begin : low assign y[i] = a[i]; end else assign y[i] = ~a[i];
  if (N > 9) ;
endmodule
"""


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("", "", False),
        ("N == 3)", "N - 2 == 1'b1 + 1'b0)", False),
        ("HALF = N / 2", "HALF = N / 0", True),
        ("localparam int HALF = N / 2", "localparam HALF = 8'd255 + 8'd1", True),
        ("if (N > 9) ;", "if (1'bx) begin end else begin end", True),
        ("if (N > 9) ;", "localparam W = 4'd15 + 4'd1; logic [W:0] wide; assign wide = '0;", True),
    ],
)
async def test_both_tools_elaborate_the_same_branches(old: str, new: str, differs: bool) -> None:
    text = GENERATES.replace(old, new, 1) if old else GENERATES
    found = await elaborated_differences(BubblewrapSandbox(slots=1), find_toolchain(), text, "top")
    assert bool(found) == differs, found

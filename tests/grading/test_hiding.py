"""What hides code from a linter or a synthesiser fails its service, unless it was there before."""

from dataclasses import replace

import pytest

from rtl_agent.grading import Grader, Outcome, submit
from rtl_agent.grading.hiding import hidden_parts
from rtl_agent.problems import Problem

LINT, SYNTH = "rtl_debouncer_0001", "rtl_popcount_0001"
HIDING = [
    "/* verilator lint_off UNUSED */",
    "// Verilator lint_off UNUSED",
    "(* verilator public *)",
    "`verilator_config",
    "`ifdef VERILATOR\n`endif",
    "`ifndef SYNTHESIS\n`endif",
    "// synopsys translate_off",
    "/* pragma translate_on */",
    "wire x = 4'd0`YOSYS;",
    'import "DPI-C" function int exit(int code);',
    'initial $c("exit(0);");',
    "`ifdef SV_COV_START\n`endif",
    "wire x = `SV_COV_TOGGLE;",
]


@pytest.mark.parametrize("text", HIDING)
def test_hiding_is_seen_where_it_matters(text: str, bundled: dict[str, Problem]) -> None:
    problem = bundled[LINT]
    target = problem.targets[0]
    files = {target: f"{text}\nmodule debouncer; endmodule\n"}
    assert hidden_parts(problem, "verilator --lint-only", submit(problem, files))
    assert hidden_parts(problem, "yosys -s synth.tcl", submit(problem, files))
    assert not hidden_parts(problem, "pytest test_runner.py", submit(problem, files))
    given = replace(problem, context={**problem.context, target: f"{text}\n"})
    assert not hidden_parts(given, "verilator --lint-only", submit(given, files))


@pytest.mark.parametrize(
    "text",
    [
        "`timescale 1ns/1ps",
        "`ifndef GUARD\n`define GUARD\n`endif",
        "`define W 8\nwire [`W-1:0] x;",
        "// good for synthesis, lint on",
    ],
)
def test_ordinary_text_hides_nothing(text: str, bundled: dict[str, Problem]) -> None:
    problem = bundled[LINT]
    files = {problem.targets[0]: f"{text}\nmodule debouncer; endmodule\n"}
    assert not hidden_parts(problem, "verilator --lint-only", submit(problem, files))


@pytest.mark.parametrize("name", [LINT, SYNTH])
async def test_a_reference_that_hides_something_fails(name: str, bundled: dict[str, Problem], grader: Grader) -> None:
    problem = bundled[name]
    assert problem.reference is not None
    waived = {path: f"// VERILATOR lint_off WIDTH\n{text}" for path, text in problem.reference.items()}
    grade = await grader.grade(problem, submit(problem, waived))
    assert grade.outcome is Outcome.FAILED
    assert any("hides code" in reason for reason in grade.reasons)

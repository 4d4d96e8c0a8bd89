"""What is known of a harness by reading it: names that nobody gives, outputs that no test can name, an interface."""

from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.audit import harness_facts
from rtl_agent.problems import Problem
from tests.audit import problems

LOOKS_AT_Q = """

@cocotb.test()
async def looks(dut):
    await clock(dut, rst=1, d=1)
    assert dut.q.value == 0
"""


SHOWN = "A module `m`: `clk`, `rst`, `d[3:0]`, output `[7:0] q`."
SPECIFICATION = "A module `m`: `clk`, `rst`, `d`, `q`, `s_axi_ready`."


def problem_with(folder: Path, body: str, specification: str = SPECIFICATION) -> Problem:
    return problems.problem_of(folder, "m", "module m; endmodule\n", specification, LOOKS_AT_Q + body)


def test_an_output_that_no_test_names_is_unmentioned(tmp_path: Path) -> None:
    assert harness_facts.unmentioned(problem_with(tmp_path, ""), ["q", "spare"]) == ("spare",)


@pytest.mark.parametrize(
    "body",
    [
        "    assert getattr(dut, f's_{dut.q.value}').value == 0\n",
        "    assert getattr(dut, 's_axi' + dut.q._name).value == 0\n",
        "    assert getattr(dut, f'{dut.q._name}_ready').value == 0\n",
        "    for handle in dut:\n        assert handle.value == 0\n",
        "    assert [one.value for one in list(dut)]\n",
    ],
)
def test_a_name_that_a_test_can_form_is_not(tmp_path: Path, body: str) -> None:
    assert harness_facts.unmentioned(problem_with(tmp_path, body), ["q", "s_axi_ready"]) == ()


def test_what_the_specification_does_not_name_is_told(tmp_path: Path) -> None:
    problem = problem_with(tmp_path, "    assert dut.hidden.value == 0\n")
    assert harness_facts.unnamed(problem) == ("hidden",)
    assert harness_facts.unnamed(replace(problem, prompt=f"{problem.prompt} And `hidden`.")) == ()


def test_an_interface_is_guessed_from_what_tests_touch_and_the_specification_says(tmp_path: Path) -> None:
    problem = replace(problem_with(tmp_path, "    dut.rst.value = dut.d.value = 1\n", SHOWN), reference=None)
    ((origin, files),) = harness_facts.interfaces_shown(problem)
    assert origin == harness_facts.TOUCHED
    (text,) = files.values()
    for port in ("input clk", "input rst", "input [3:0] d", "output [7:0] q"):
        assert port in text


def test_a_head_in_the_specification_comes_before_a_guess(tmp_path: Path) -> None:
    shown = "```verilog\nmodule m #(parameter W = 4) (input clk, rst, d, output [W-1:0] q);\n```"
    first, *_ = harness_facts.interfaces_shown(replace(problem_with(tmp_path, "", shown), reference=None))
    assert first[0] == "the specification"
    assert "parameter W = 4" in next(iter(first[1].values()))

"""What is synthesised is what was simulated, shown by the problem's own tests."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.grading import Grader, Outcome, submit
from rtl_agent.grading.grade import StageName, TestResult
from rtl_agent.grading.netlist import given_ports, lost_names, netlist_plan, sets_name
from rtl_agent.grading.verdict import ServiceVerdict
from rtl_agent.problems import CocotbVersion, Problem, Service

in_one_loop = pytest.mark.asyncio(loop_scope="module")  # with the grader that they share
ATTACKS = Path(__file__).parents[2] / "attacks"
LINT, SYNTH = "rtl_debouncer_0001", "rtl_popcount_0001"
OTHERS = ("rtl_alu_0001", "rtl_barrel_shifter_0001", "rtl_sync_fifo_0001", "rtl_round_robin_arbiter_0001")
NO_SUCH = "AttributeError: popcount contains no child object named total"


def test_only_synthesis_services_have_a_plan(bundled: dict[str, Problem]) -> None:
    plans = {service.name: netlist_plan(bundled[SYNTH], service) for service in bundled[SYNTH].harness.services}
    assert plans["sanity"] is None
    assert plans["synth"] is not None
    assert "read_verilog -sv /code/rtl/popcount.sv" in str(plans["synth"]["script"])
    assert "count" in json.dumps(plans["synth"]["names"])
    assert not any(netlist_plan(bundled[LINT], service) for service in bundled[LINT].harness.services)


def verdict(*messages: str | None) -> ServiceVerdict:
    tests = [TestResult(f"test_{i}", m is None, m, item="runner.py::all") for i, m in enumerate(messages)]
    whole = TestResult("runner.py::all", all(m is None for m in messages), None)
    return ServiceVerdict("sanity", bool(whole.passed), 0.0, (*tests, whole))


@pytest.mark.parametrize(
    ("python", "sets"),
    [
        ("dut.state.value = 1", True),
        ("dut.state[3].value = 1", True),
        ("dut.state.next.value += 1", True),
        ("dut.state <= 1", True),  # cocotb 1.x
        ("dut.state.setimmediatevalue(0)", True),
        ("assert dut.state.value <= 4", False),
        ("if dut.state.value == 1:\n    pass", False),
        ("state = dut.state", False),
        ("dut.other.value = int(dut.state.value)", False),
    ],
)
def test_a_test_that_sets_a_name_is_told_from_one_that_compares_it(python: str, sets: bool) -> None:
    assert sets_name(python, "state") is sets


def test_given_ports_are_those_that_tests_look_at(bundled: dict[str, Problem]) -> None:
    found = given_ports(bundled["rtl_popcount_0001"], {"count", "data", "total"})
    assert found == {"popcount": {"data": "input", "count": "output"}}


def test_names_are_lost_only_where_nothing_else_failed() -> None:
    assert lost_names(verdict(None, NO_SUCH)) == ["total"]
    assert lost_names(verdict(NO_SUCH, "AssertionError: count: expected 3, got 4")) == []
    assert lost_names(verdict(None)) == []


def with_synthesis(problem: Problem, synthesis: Problem) -> Problem:
    """A problem of another kind with a service that synthesises its design, whatever comes out."""
    service = synthesis.harness.services[1]
    top = problem.harness.services[0].env["TOPLEVEL"]
    script = f"read_verilog -sv /code/rtl/*.sv\nsynth -top {top}\n"
    runner = "import os\n\ndef test():\n    assert os.system('yosys -q -s /src/synth.tcl') == 0\n"
    files = {**problem.harness.files, "src/synth.tcl": script, "src/synth.py": runner}
    services = (*problem.harness.services, replace(service, env=problem.harness.services[0].env))
    return replace(problem, harness=replace(problem.harness, files=files, services=services))


@in_one_loop
@pytest.mark.parametrize("name", OTHERS)
async def test_a_right_design_passes_on_its_netlist(name: str, bundled: dict[str, Problem], grader: Grader) -> None:
    problem = with_synthesis(bundled[name], bundled[SYNTH])
    assert problem.reference is not None
    grade = await grader.grade(problem, submit(problem, problem.reference))
    assert grade.outcome is Outcome.PASSED, grade.reasons
    tests = next(stage for stage in grade.stages if stage.name is StageName.TESTS)
    assert not tests.notes  # it was compared


LOOKS_AT_A_LOOP = """
import cocotb
from cocotb.triggers import Timer

@cocotb.test()
async def looks(dut):
    for value in (0, 3, 0xFFFF, 0xFFFFFFFF):
        for signal, level in ((dut.rst_n, 1), (dut.in_valid, 1), (dut.data, value), (dut.clk, 0)):
            signal.value = level
        await Timer(5, "step")
        dut.clk.value = 1
        await Timer(5, "step")
        assert int(dut.count.value) == bin(value).count("1"), f"{int(dut.count.value)} for {value}"
        assert int(dut.turn.value) == 32, int(dut.turn.value)
"""


@in_one_loop
@pytest.mark.parametrize("version", list(CocotbVersion))
@pytest.mark.parametrize("attack", [False, True])
async def test_a_name_that_the_netlist_has_lost_is_taken_from_the_source(
    version: CocotbVersion, attack: bool, bundled: dict[str, Problem], grader: Grader
) -> None:
    problem = bundled[SYNTH]
    assert problem.reference is not None
    lost = "    integer turn;\n    always @(posedge clk) for (turn = 0; turn < 32; turn = turn + 1);\n"
    design = problem.reference[problem.targets[0]]
    if attack:
        design = (ATTACKS / "synthesis_ignores_sensitivity" / "design.sv").read_text()
    design = design.replace("endmodule", f"{lost}endmodule")
    runner = problem.harness.files["src/test_runner.py"]
    if version is CocotbVersion.V1:
        runner = runner.replace("cocotb_tools.runner", "cocotb.runner")
    files = {**problem.harness.files, "src/test_popcount.py": LOOKS_AT_A_LOOP, "src/test_runner.py": runner}
    changed = replace(problem, harness=replace(problem.harness, files=files, cocotb_version=version))
    grade = await grader.grade(changed, submit(changed, {problem.targets[0]: design}))
    assert grade.outcome is (Outcome.FAILED if attack else Outcome.PASSED), grade.reasons
    tests = next(stage for stage in grade.stages if stage.name is StageName.TESTS)
    assert not any("not compared" in note for note in tests.notes), tests.notes
    assert not attack or "what is synthesised is not what was simulated" in grade.reasons[0]


@in_one_loop
@pytest.mark.parametrize("unknown", ["zero", pytest.param("one", marks=pytest.mark.slow)])
async def test_words_decide_what_gates_would_where_gates_take_too_long(
    unknown: str, bundled: dict[str, Problem], grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_gates(problem: Problem, service: Service) -> dict[str, object] | None:
        plan = netlist_plan(problem, service)
        return None if plan is None else {**plan, "gates": False, "unknown": unknown}

    monkeypatch.setattr("rtl_agent.grading.netlist.netlist_plan", without_gates)
    problem = bundled[SYNTH]
    assert problem.reference is not None
    right = await grader.grade(problem, submit(problem, problem.reference))
    assert right.outcome is Outcome.PASSED, right.reasons
    attack = (ATTACKS / "synthesis_reads_beyond_a_vector" / "design.sv").read_text()
    wrong = await grader.grade(problem, submit(problem, {problem.targets[0]: attack}))
    assert any("what is synthesised is not what was simulated" in reason for reason in wrong.reasons), wrong.reasons

"""VerilogEval, RTLLM and ChipBench: what is read from a checkout. The fixtures beside are our own, in their formats."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, as_record, load_problems
from rtl_agent.problems.checks import check_source
from rtl_agent.problems.sets.bench import renamed
from rtl_agent.problems.sets.known_bad import RTLLM

SETS = Path(__file__).parent / "sets"
SOURCES = (
    f"verilog-eval:{SETS}/verilog-eval",
    f"verilog-eval:{SETS}/verilog-eval,task=complete",
    f"rtllm:{SETS}/RTLLM",
    f"chipbench:{SETS}/ChipBench",
    f"chipbench:{SETS}/ChipBench,part=debug",
)
# Real checkouts, where somebody has them: the same readers over every file.
CHECKOUTS = {
    "RTL_AGENT_VERILOG_EVAL": "verilog-eval:{}",
    "RTL_AGENT_RTLLM": "rtllm:{}",
    "RTL_AGENT_CHIPBENCH": "chipbench:{}",
}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.replace(str(SETS), ""))
def test_a_set_conforms(source: str) -> None:
    assert check_source(source) == []


def each_checkout() -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.checkout(name), id=name) for name in CHECKOUTS]


@pytest.mark.parametrize("name", each_checkout())
def test_a_real_checkout_conforms(name: str) -> None:
    assert check_source(CHECKOUTS[name].format(os.environ[name])) == []


def the(source: str, identifier: str) -> Problem:
    return next(one for one in load_problems(source) if one.id == identifier)


def test_verilog_evals_prompt_reference_and_bench_are_what_its_files_say() -> None:
    problem = the(SOURCES[0], "verilogeval_saturating_counter_0001")
    folder = SETS / "verilog-eval" / "dataset_spec-to-rtl"
    assert problem.prompt == (folder / "Prob001_saturating_counter_prompt.txt").read_text().strip()
    assert problem.family == "saturating_counter"
    assert problem.reference is not None
    assert "module TopModule (" in problem.reference["rtl/TopModule.sv"]
    plan = json.loads(problem.harness.files["src/bench.json"])
    assert plan["bench"] == [(folder / "Prob001_saturating_counter_test.sv").read_text()]
    assert "module RefModule (" in plan["reference"]


def test_a_completion_shows_the_header_and_not_the_body() -> None:
    (problem,) = load_problems(SOURCES[1])
    assert problem.id == "verilogeval-complete_saturating_counter_0001"
    assert problem.category == "cid002"
    assert problem.prompt.endswith("output reg [2:0] q\n);")
    assert problem.prompt.count("module TopModule") == 1


def test_the_dataset_directory_itself_is_taken_too() -> None:
    assert load_problems(f"verilog-eval:{SETS}/verilog-eval/dataset_code-complete-iccad2023")[0].id.startswith(
        "verilogeval-complete_"
    )


def test_rtllms_names_come_from_the_description_and_the_bench() -> None:
    problem = the(SOURCES[2], "rtllm_multi_serial_4bit_0001")
    assert problem.targets == ("rtl/multi_serial.v",)
    assert problem.reference is not None
    assert "module multi_serial #(" in problem.reference["rtl/multi_serial.v"]
    adder = the(SOURCES[2], "rtllm_adder_6bit_0001")
    assert json.loads(adder.harness.files["src/bench.json"])["data"].keys() == {"operands.dat"}
    assert adder.reference is not None
    assert "module adder_6bit(" in adder.reference["rtl/adder_6bit.v"]
    assert "module one_bit(" in adder.reference["rtl/adder_6bit.v"]


def test_chipbenchs_parts_are_sets_of_their_own_with_the_same_families() -> None:
    generated, debugged = load_problems(SOURCES[3]), load_problems(SOURCES[4])
    assert [one.id for one in generated] == ["chipbench-self_running-sum_0000"]
    assert [one.id for one in debugged] == ["chipbench-debug-timing_running-sum_0000"]
    assert generated[0].family == debugged[0].family
    assert (generated[0].category, debugged[0].category) == ("cid003", "cid016")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.replace(str(SETS), ""))
def test_nothing_of_a_bench_is_shown_or_is_a_file_that_a_tool_would_read(source: str) -> None:
    for problem in load_problems(source):
        assert problem.context == {}
        assert not [path for path in problem.harness.files if path.endswith((".v", ".sv", ".dat", ".txt"))]
        assert "tb_match" not in json.dumps(as_record(problem)["input"])


def test_items_that_cannot_pass_are_left_out_unless_all_are_asked_for(tmp_path: Path) -> None:
    bad = "clkgenerator"
    assert bad in RTLLM
    checkout = tmp_path / "RTLLM"
    shutil.copytree(SETS / "RTLLM", checkout)
    folder = checkout / "Miscellaneous" / bad
    folder.mkdir(parents=True)
    (folder / "design_description.txt").write_text(f"Make a clock.\n\nModule name:\n    {bad}\n")
    (folder / "testbench.v").write_text(f"module tb; wire clk; {bad} one(.clk(clk)); endmodule\n")
    (folder / f"verified_{bad}.v").write_text(f"module {bad}(output clk); endmodule\n")
    assert len(load_problems(f"rtllm:{checkout}")) == 2
    assert len(load_problems(f"rtllm:{checkout},all")) == 3


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("verilog-eval", "verilog-eval needs the directory of a checkout: verilog-eval:PATH"),
        ("rtllm:/nowhere/at/all", "is not a directory; name a checkout"),
        (f"verilog-eval:{SETS}/RTLLM", "has no problems of this form"),
        (f"rtllm:{SETS}/verilog-eval", "has no problems of RTLLM's form"),
        (f"chipbench:{SETS}/RTLLM", "is no checkout of ChipBench"),
        (f"verilog-eval:{SETS}/verilog-eval,task=both", "task=both is not one of all, task=spec|complete"),
    ],
)
def test_a_wrong_argument_is_a_sentence(source: str, said: str) -> None:
    with pytest.raises(NoSuchProblems, match=re.escape(said)):
        load_problems(source)


def test_a_file_that_is_missing_is_named_or_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "dataset_spec-to-rtl"
    shutil.copytree(SETS / "verilog-eval" / "dataset_spec-to-rtl", folder)
    (folder / "Prob002_majority5_ref.sv").unlink()
    with pytest.raises(BadRecord, match=r"Prob002_majority5_ref\.sv"):
        load_problems(f"verilog-eval:{tmp_path}")
    left_out: list[BadRecord] = []
    assert len(load_problems(f"verilog-eval:{tmp_path}", skip_bad=True, on_bad=left_out.append)) == 1
    assert len(left_out) == 1


def test_only_names_are_renamed() -> None:
    text = 'module RefModule; // RefModule\ninitial $display("RefModule"); RefModule2 x(); endmodule : RefModule'
    expected = 'module Top; // RefModule\ninitial $display("RefModule"); RefModule2 x(); endmodule : Top'
    assert renamed(text, {"RefModule": "Top"}) == expected

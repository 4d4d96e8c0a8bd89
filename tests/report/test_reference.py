"""Differences to the reference: read by the real parser in a real box, and named in words."""

from pathlib import Path

import pytest

from rtl_agent.report import reference, write_report
from rtl_agent.report.reference import Reset, differences_to_references, read_reset, reset_difference
from rtl_agent.runs import RunWriter
from rtl_agent.toolchain import ToolMissing
from tests.report.example_run import CONFIG, asked
from tests.report.test_before_after import RIGHT, WRONG, answer
from tests.report.test_report import Page

ARBITER = """module arbiter #(parameter W = 4) (
  input clk, input reset, output [5:0] grant, output valid);
  localparam L = 1;
endmodule
"""


def said(*changes: tuple[str, str]) -> tuple[str, ...] | None:
    """What is said of the reference after some changes."""
    text = ARBITER
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (found,) = differences_to_references([({"rtl/arbiter.sv": ARBITER}, {"rtl/arbiter.sv": text})])
    return found


def test_the_same_interface_in_another_order_has_no_difference() -> None:
    swapped = "input reset, input clk"
    assert said(("input clk, input reset", swapped), ("= 4", "= 4, parameter MORE = 1")) == ()


def test_a_signal_inside_the_design_is_no_port_of_that_name() -> None:
    assert said((", output valid", ""), (");", ");\n  wire valid;")) == ("output `valid` is missing",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("output valid", "output grant_valid"), ("output `valid` is missing; you wrote `grant_valid`",)),
        (
            ("output valid", "input late"),
            ("output `valid` is missing", "input `late` is not in the specification"),
        ),
        (("[5:0] grant", "[7:0] grant"), ("output `grant` is 8 bits wide, 6 expected",)),
        (("output valid", "input valid"), ("`valid` should be an output but is an input",)),
        (("parameter W", "parameter D"), ("parameter `W` is missing",)),
        (("output valid", "output valid, input spare"), ("input `spare` is not in the specification",)),
        (("module arbiter", "module top"), ("module is named `top`, `arbiter` expected",)),
    ],
)
def test_each_difference_is_said_in_words(change: tuple[str, str], words: tuple[str, ...]) -> None:
    assert said(change) == words


@pytest.mark.parametrize(
    "text", ["module (", "nonsense", "", "module a; endmodule module b; endmodule", "\x00\ud800`include"]
)
def test_what_cannot_be_read_is_not_compared(text: str) -> None:
    assert differences_to_references([({"rtl/arbiter.sv": ARBITER}, {"rtl/arbiter.sv": text})]) == [None]


def test_of_several_modules_the_one_of_the_references_name() -> None:
    (found,) = differences_to_references([({"rtl/m.sv": ARBITER}, {"x.sv": ARBITER + "module part; endmodule"})])
    assert found == ()


def test_a_machine_that_cannot_grade_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ToolMissing("cocotb")

    monkeypatch.setattr(reference, "find_toolchain", missing)
    assert differences_to_references([({"m.v": ARBITER}, {"m.v": ARBITER})] * 2) == [None, None]
    assert differences_to_references([]) == []


@pytest.mark.parametrize(
    ("block", "reset"),
    [
        ("always @(posedge clk or negedge rst_n) begin\n  if (!rst_n) q <= 0;", Reset("rst_n", True, True)),
        ("always_ff @(posedge clk, posedge go) if (go) q <= 0;", Reset("go", True, False)),
        ("always @(posedge clk) begin : main\n if (reset == 1'b1) q <= 0;", Reset("reset", False, False)),
        ("always @(posedge clk) // if (rst)\n if (~clr) q <= 0;", Reset("clr", False, True)),
        ("always @(posedge clk) if (reset === 0) q <= 0;", Reset("reset", False, True)),
        ("always @(posedge clk) if (en) q <= d;", None),
        ("always @(posedge clk) if (rst && en) q <= d;", None),
        ("always @(posedge clk or negedge rst) if (rst) q <= 0;", None),
        ("always @(posedge clk) q <= d;", None),
        ("always @(posedge clk) if (rst) a <= 0;\nalways @(posedge clk) if (!rst) b <= 0;", None),
        ("always @* if (rst) q = 0;", None),
        ("always @(posedge clk or", None),
        ('initial $display("always @(posedge clk) if (rst) q <= 0;");', None),
        ("/*" * 40_000, None),
        ("always @(" * 10_000, None),
    ],
)
def test_a_reset_is_read_where_it_is_written_plainly(block: str, reset: Reset | None) -> None:
    assert read_reset(block) == reset


def test_the_kind_of_a_reset_is_compared_and_its_name_is_the_ports_matter() -> None:
    reference = "always @(posedge clk) if (reset) q <= 0;"
    habit = "always @(posedge clk or negedge rst_n) if (!rst_n) q <= 0;"
    words = "reset `rst_n` is asynchronous, active low; expected `reset`, synchronous, active high"
    assert reset_difference(reference, habit) == words
    assert reset_difference(reference, reference.replace("reset", "rst")) is None
    assert reset_difference(reference, "always @(posedge clk) q <= d;") is None


def page(path: Path, text: str, **fields: object) -> str:
    """The page of a run whose student fails with this answer at first and at last."""
    with RunWriter.create(path, CONFIG, if_exists="raise") as run:
        run.write_held_out([asked("p", "test") | {"reference": {"rtl/counter.sv": RIGHT}}])
        for step in (0, 5):
            failed = answer("p", step, passed=False) | {"text": text}
            failed["grade"] = {
                "outcome": "failed",
                "stages": [{"name": "interface", "passed": True}],
                "reasons": ["why"],
            }
            run.log_rollouts(step, [failed | fields], kind="eval")
    return Page(write_report(path, curves=False).page).text


def test_the_page_names_twelve_differences_before_it_counts(tmp_path: Path) -> None:
    many = ", ".join(["input clk", *(f"input x{number}" for number in range(14))])
    text = page(tmp_path / "run", f"```verilog\nmodule counter ({many});\nendmodule\n```")
    assert "`x11` is not in the specification" in text
    assert "`x12` is not in the specification" not in text
    assert "and 2 more" in text
    assert "interface as specified" not in text


def test_as_specified_is_said_only_of_what_was_compared(tmp_path: Path) -> None:
    assert "interface as specified" in page(tmp_path / "right", f"```verilog\n{RIGHT}\n```")
    broken = page(tmp_path / "broken", "```verilog\nmodule (\n```")
    assert "interface as specified" not in broken
    assert "why" in broken


def test_the_answer_is_read_as_the_grader_reads_it(tmp_path: Path) -> None:
    """Not the first block, which is a shell's; and of a workspace the files."""
    shell_first = f"Try this:\n```bash\nmodule load vcs\n```\nand then\n```verilog\n{WRONG}\n```\n"
    note = "input `clk` is missing; you wrote `clock`"
    assert note in page(tmp_path / "a", shell_first)
    files = {"rtl/counter.sv": WRONG, "odd": None}
    assert note in page(tmp_path / "b", "I wrote the file.", files=files)

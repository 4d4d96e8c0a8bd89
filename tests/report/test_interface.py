"""Interface differences to the reference: all of them are named, in words, and nothing that was not read."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rtl_agent.report import Design, Interface, Port, ReadInterfaces, write_report
from rtl_agent.report.interface import interface_differences
from rtl_agent.report.reset import Reset, read_reset, reset_difference
from rtl_agent.runs import RunWriter
from tests.report.example_run import CONFIG, asked
from tests.report.test_before_after import RIGHT, WRONG, answer
from tests.report.test_report import Page

ASKED = Interface(
    "arbiter",
    (Port("clk", "input", 1), Port("reset", "input", 1), Port("grant", "output", 6), Port("valid", "output", 1)),
)


def written(*changed: Port, without: Sequence[str] = (), module: str = "arbiter") -> tuple[str, ...]:
    """What is said of the asked interface after some changes."""
    ports = {port.name: port for port in ASKED.ports if port.name not in without} | {
        port.name: port for port in changed
    }
    return interface_differences(ASKED, Interface(module, tuple(ports.values())))


def test_the_same_interface_in_another_order_has_no_difference() -> None:
    assert interface_differences(ASKED, Interface("arbiter", ASKED.ports[::-1], ("WIDTH",))) == ()


def test_what_is_missing_is_said_with_what_was_written_instead() -> None:
    assert written(Port("grant_valid", "output", 1), without=["valid"]) == (
        "`valid` is missing; `grant_valid` is not asked for",
    )


def test_unlike_names_are_paired_by_place_and_resets_with_resets() -> None:
    said = written(Port("tick", "input", 1), Port("rst_n", "input", 1), without=["clk", "reset"])
    assert said == ("`clk` is missing; `tick` is not asked for", "`reset` is missing; `rst_n` is not asked for")


def test_widths_are_told_where_they_differ_as_well() -> None:
    said = written(Port("result", "output", 8), without=["grant"])
    assert said == ("`grant` (6 bits) is missing; `result` (8 bits) is not asked for",)


def test_an_input_does_not_stand_for_an_output() -> None:
    said = written(Port("valid_in", "input", 1), without=["valid"])
    assert said == ("`valid` is missing", "`valid_in` is not asked for")


@pytest.mark.parametrize(
    ("port", "said"),
    [
        (Port("grant", "output", 8), "`grant` is 8 bits wide, 6 are asked for"),
        (Port("grant", "output", 1), "`grant` is 1 bit wide, 6 are asked for"),
        (Port("valid", "output", 4), "`valid` is 4 bits wide, 1 is asked for"),
        (Port("valid", "input", 1), "`valid` is an input, an output is asked for"),
        (Port("grant", "output", 6, ("[0:1]",)), "`grant` is an array [0:1]; asked: no array"),
    ],
)
def test_width_direction_and_dimensions(port: Port, said: str) -> None:
    assert written(port) == (said,)


def test_a_module_of_another_name_is_named_and_its_ports_are_compared() -> None:
    said = written(Port("grant", "output", 8), module="top")
    assert said == ("module is named `top`; asked: `arbiter`", "`grant` is 8 bits wide, 6 are asked for")


def test_a_parameter_that_is_missing() -> None:
    assert interface_differences(Interface("m", (), ("W", "D")), Interface("m", (), ("D",))) == (
        "parameter `W` is missing",
    )


@pytest.mark.parametrize(
    ("block", "reset"),
    [
        ("always @(posedge clk or negedge rst_n) begin\n  if (!rst_n) q <= 0;", Reset("rst_n", True, True)),
        ("always_ff @(posedge clk, posedge go) if (go) q <= 0;", Reset("go", True, False)),
        ("always @(posedge clk) begin : main\n if (reset == 1'b1) q <= 0;", Reset("reset", False, False)),
        ("always @(posedge clk) // if (rst)\n if (~clr) q <= 0;", Reset("clr", False, True)),
        ("always @(posedge clk) if (en) q <= d;", None),
        ("always @(posedge clk or negedge rst) if (rst) q <= 0;", None),
        ("always @(posedge clk) q <= d;", None),
        ("always @(posedge clk) if (rst) a <= 0;\nalways @(posedge clk) if (!rst) b <= 0;", None),
        ("always @* if (rst) q = 0;", None),
        ("always @(posedge clk or", None),
        ("/*" * 40_000, None),
        ("always @(" * 10_000, None),
    ],
)
def test_a_reset_is_read_where_it_is_written_plainly(block: str, reset: Reset | None) -> None:
    assert read_reset(block) == reset


def test_the_kind_of_a_reset_is_compared_and_its_name_is_the_ports_matter() -> None:
    reference = "always @(posedge clk) if (reset) q <= 0;"
    habit = "always @(posedge clk or negedge rst_n) if (!rst_n) q <= 0;"
    said = "reset `rst_n` is asynchronous, active low; asked: `reset`, synchronous, active high"
    assert reset_difference(reference, habit) == said
    assert reset_difference(reference, reference.replace("reset", "rst")) is None
    assert reset_difference(reference, "always @(posedge clk) q <= d;") is None


def run_with(path: Path, **fields: object) -> Path:
    """A run whose student fails at first and at last."""
    with RunWriter.create(path, CONFIG, if_exists="raise") as run:
        run.write_held_out([asked("p", "test") | {"reference": {"rtl/counter.sv": RIGHT}}])
        for step in (0, 5):
            failed = answer("p", step, passed=False)
            failed["grade"] = {
                "outcome": "failed",
                "stages": [{"name": "interface", "passed": True}],
                "reasons": ["why"],
            }
            run.log_rollouts(step, [failed | fields], kind="eval")
    return path


def reader(right: Interface | None, wrong: Interface | None, seen: list[Design] | None = None) -> ReadInterfaces:
    def read(designs: Sequence[Design]) -> list[Interface | None]:
        if seen is not None:
            seen.extend(designs)
        return [right if "".join(design.files.values()).strip() == RIGHT else wrong for design in designs]

    return read


def page(path: Path, right: Interface | None, wrong: Interface | None) -> str:
    return Page(write_report(path, curves=False, read_interfaces=reader(right, wrong)).page).text


CLOCKED = Interface("counter", (Port("clk", "input", 1),))


def test_the_page_names_twelve_differences_before_it_counts(tmp_path: Path) -> None:
    many = Interface("counter", (*CLOCKED.ports, *(Port(f"x{n}", "input", 1) for n in range(14))))
    text = page(run_with(tmp_path / "run"), CLOCKED, many)
    assert "`x11` is not asked for" in text
    assert "`x12` is not asked for" not in text
    assert "and 2 more" in text
    assert "interface as specified" not in text


def test_as_specified_is_said_only_of_what_was_compared(tmp_path: Path) -> None:
    path = run_with(tmp_path / "run")
    assert "interface as specified" in page(path, CLOCKED, CLOCKED)
    unknown = Interface("counter", (Port("clk", "input", 0),))
    for right, wrong in ((CLOCKED, None), (None, CLOCKED), (CLOCKED, unknown)):
        text = page(path, right, wrong)
        assert "interface as specified" not in text
        assert "why" in text
    assert "interface as specified" not in Page(write_report(path, curves=False).page).text


def test_the_code_of_an_answer_is_read_or_the_files_of_a_workspace(tmp_path: Path) -> None:
    seen: list[Design] = []
    write_report(run_with(tmp_path / "a"), curves=False, read_interfaces=reader(CLOCKED, CLOCKED, seen))
    assert [(design.top, *design.files.values()) for design in seen] == [(None, RIGHT), *[("counter", WRONG)] * 2]
    seen.clear()
    files = {"rtl/counter.sv": "module counter;", "odd": None}
    write_report(run_with(tmp_path / "b", files=files), curves=False, read_interfaces=reader(CLOCKED, CLOCKED, seen))
    assert [dict(design.files) for design in seen[1:]] == [{"rtl/counter.sv": "module counter;"}] * 2

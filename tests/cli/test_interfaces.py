"""Interfaces for the report: read by the real parser in a real box, whatever the text is."""

import pytest

from rtl_agent.cli import interfaces
from rtl_agent.cli.interfaces import read_interfaces
from rtl_agent.report import Design, Interface, Port
from rtl_agent.toolchain import ToolMissing

GOOD = (
    "module m #(parameter W = 4) (input clk, input [W-1:0] d, output reg [7:0] q [0:1]); localparam L = 1; endmodule\n"
)
READ = Interface("m", (Port("clk", "input", 1), Port("d", "input", 4), Port("q", "output", 8, ("[0:1]",))), ("W",))


def test_ports_widths_and_parameters_in_order() -> None:
    broken = ("module (", "nonsense", "", "module a; endmodule module b; endmodule", "\x00\ud800`include")
    designs = [
        Design({"m.v": GOOD}),
        *(Design({"x.v": text}) for text in broken),
        Design({}),
        Design({"m.v": GOOD}, "n"),
    ]
    assert read_interfaces(designs) == [READ, *[None] * 6, READ]


def test_of_several_modules_the_one_that_was_asked_for_or_that_a_file_is_named_after() -> None:
    files = {"rtl/m.v": GOOD + "module part; endmodule"}
    assert read_interfaces([Design(files), Design(files, "part"), Design(files, "n")]) == [
        READ,
        Interface("part", ()),
        READ,
    ]


def test_a_machine_that_cannot_grade_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ToolMissing("cocotb")

    monkeypatch.setattr(interfaces, "find_toolchain", missing)
    assert read_interfaces([Design({"m.v": GOOD})] * 2) == [None, None]
    assert read_interfaces([]) == []

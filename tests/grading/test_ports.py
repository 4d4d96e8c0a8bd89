"""The ports of given modules, read off their tokens."""

import pytest

from rtl_agent.grading.ports import declared_ports


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("module m (input a, output reg [3:0] b, c); endmodule", {"a": "input", "b": "output", "c": "output"}),
        ("module m (a, b); input a; output [W-1:0] b; endmodule", {"a": "input", "b": "output"}),
        (
            "module m import p::*; #(parameter W = f(2)) (input wire signed [W-1:0] a, inout tri z); endmodule",
            {"a": "input", "z": "inout"},
        ),
        ("module m (input p::word_t a, output logic b = 1'b0); endmodule", {"a": "input", "b": "output"}),
        ("module m (input a /* , input no */ // , input no\n); endmodule", {"a": "input"}),
        (
            "module m (input a); function f; input x; f = x; endfunction task t(output y); endtask endmodule",
            {"a": "input"},
        ),
        ("module automatic m (input a); assign b = a; endmodule", {"a": "input"}),
        ("module m; endmodule", {}),
    ],
)
def test_ports_of_either_style(text: str, ports: dict[str, str]) -> None:
    assert declared_ports(text) == {"m": ports}


def test_each_module_has_its_own() -> None:
    text = "module a (input x); endmodule\nmodule b (output x, y); endmodule\n"
    assert declared_ports(text) == {"a": {"x": "input"}, "b": {"x": "output", "y": "output"}}


@pytest.mark.parametrize(
    "text", ["", "module", "module m (input", "module m (input a, (((", "endmodule ) ] }", "input a;"]
)
def test_what_is_cut_off_is_read_as_far_as_it_goes(text: str) -> None:
    assert set(declared_ports(text)) <= {"m"}

"""A problem is found in another set under other names, in other words around it, and in part; a usual reset is not."""

from dataclasses import replace

import pytest

from rtl_agent.audit.overlap import overlaps, warning
from rtl_agent.problems import Problem, load_problems

DESIGN = """
module {top} (input logic clk, input logic {reset}, input logic [7:0] {data}, output logic [7:0] {sum});
    logic [7:0] {last};
    always_ff @(posedge clk) begin
        if ({reset}) begin {sum} <= 8'd0; {last} <= 8'd0; end
        else begin {last} <= {data}; {sum} <= {sum} + ({data} ^ {last}) - (8'd3 * {last}); end
    end
endmodule
"""
SPECIFICATION = (
    "Write a module that adds to its output, at every rising edge, the difference between the byte that comes in and "
    "three times the byte before it; both start at nought whenever the reset is seen."
)


@pytest.fixture(scope="module")
def some() -> Problem:
    return load_problems("bundled")[0]


def problem(some: Problem, number: int, specification: str, design: str, family: str = "") -> Problem:
    return replace(
        some,
        id=f"set_a_{number:04}",
        family=family or f"family{number}",
        prompt=specification,
        context={},
        targets=("rtl/a.sv",),
        reference={"rtl/a.sv": design},
    )


def named(*names: str) -> str:
    return DESIGN.format(**dict(zip(("top", "reset", "data", "sum", "last"), names, strict=True)))


def test_a_copy_under_other_names_and_with_comments_is_found(some: Problem) -> None:
    a = problem(some, 1, "Nothing alike in these words at all, not one bit of it here.", named("m", "r", "d", "s", "l"))
    renamed = named("Accu", "rst", "byte_in", "total", "previous").replace("begin", "begin // a comment\n")
    b = problem(some, 2, SPECIFICATION, renamed)
    (found,) = overlaps([a], [b])
    assert found.rtl is not None
    assert (found.rtl.id, found.rtl.share) == (b.id, 1.0)
    assert found.specification_seen == 0.0


def test_another_operator_or_number_is_not_the_same(some: Problem) -> None:
    a = problem(some, 1, SPECIFICATION, named("m", "r", "d", "s", "l"))
    b = problem(some, 2, "other words " * 9, named("m", "r", "d", "s", "l").replace("8'd3", "8'd5").replace("^", "&"))
    (found,) = overlaps([a], [b])
    assert found.rtl is not None
    assert found.rtl.share < 0.9


def test_a_part_of_a_specification_is_found_whatever_its_case_and_line_breaks(some: Problem) -> None:
    a = problem(some, 1, SPECIFICATION, "module a; endmodule")
    b = problem(
        some, 2, "Before it. " + SPECIFICATION.upper().replace(" ", "\n") + " After it.", "module b; wire c; endmodule"
    )
    assert (found := overlaps([a], [b])[0].specification) is not None
    assert found.share == 1.0
    half = problem(some, 3, " ".join(SPECIFICATION.split()[:20]), "module c; endmodule")
    assert (found := overlaps([a], [half])[0].specification) is not None
    assert 0.3 < found.share < 0.6


def test_what_several_families_say_is_how_such_problems_are_written(some: Problem) -> None:
    form = "Complete the following module in SystemVerilog so that it meets all of the requirements below, exactly. "
    sets = [
        [problem(some, 10 * side + n, form + f"w{side}{n} " * 12, f"module m{side}{n}; endmodule") for n in range(5)]
        for side in (1, 2)
    ]
    assert all(one.specification_seen == 0.0 for one in overlaps(*sets))


def test_an_empty_text_has_nothing_to_share(some: Problem) -> None:
    (found,) = overlaps([problem(some, 1, "", "")], [problem(some, 2, "", "")])
    assert (found.specification, found.rtl, found.most) == (None, None, 0.0)


def test_training_is_warned_of_a_test_set_that_it_learns(some: Problem) -> None:
    learned = problem(some, 1, SPECIFICATION, named("m", "r", "d", "s", "l"))
    test = problem(some, 2, "In short: " + SPECIFICATION, named("x", "y", "z", "u", "v"))
    other = problem(some, 3, "Count the ones of a word of any width that comes in serially.", "module z; endmodule")
    said = warning([learned], [test, other])
    assert said.startswith("1 of 2 held-out problems share 50% or more")
    assert "set_a_0002 with set_a_0001" in said
    assert warning([learned], [other]) == ""
    drawn = [replace(one, family="generated_x") for one in (learned, test)]
    assert warning(drawn[:1], drawn[1:]) == "", "other instances of a family are what its tests are about"


def test_the_bundled_set_is_no_copy_of_the_generated_families() -> None:
    found = overlaps(load_problems("bundled"), load_problems("generated:count=24"))
    assert max(one.most for one in found) < 0.5

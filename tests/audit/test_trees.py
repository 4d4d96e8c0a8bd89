"""Mutations on slang's tree: they compile, leave the rest verbatim, cover the classes, and are chosen by seed."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rtl_agent.audit.choose import in_turn
from rtl_agent.audit.trees import Design, Mutation, Trees
from rtl_agent.grading.box_worker import WorkerFailed
from rtl_agent.problems import Problem
from rtl_agent.sandbox import make_sandbox
from rtl_agent.toolchain import find_toolchain

pytestmark = pytest.mark.asyncio(loop_scope="module")

DESIGN = """\
`define TOP 4'd9
// Ünicode moves bytes from characters.
module m #(parameter W = 4) (input clk, input rst_n, input [W-1:0] a, b, output reg [W-1:0] y, output c);
  reg [W-1:0] kept, other;
  assign c = a < b && |kept;
  always @(posedge clk or negedge rst_n)
    if (!rst_n) begin
      y <= 4'd0;
      kept <= 4'd3;
    end else begin
      kept <= a + b;
      other <= {kept[1:0], a[3:2]} << 1;
      case (a)
        4'd1: y <= kept ^ b;
        4'd2: y <= other - a;
        `TOP: y <= ~b;
        default: y <= b ? a : kept;
      endcase
    end
endmodule
"""
EXPECTED = {
    "arithmetic", "assignment", "bitwise", "blocking", "branch", "case", "clock", "constant", "logical", "operands",
    "order", "parameter", "reduction", "relational", "reset", "select", "shift", "signal", "stuck", "width",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trees() -> AsyncIterator[Trees]:
    trees = Trees(make_sandbox(1), find_toolchain())
    yield trees
    await trees.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def found(trees: Trees) -> list[Mutation]:
    return await trees.mutations(design())


def design(text: str = DESIGN) -> Design:
    return Design({"rtl/m.v": text}, {})


async def test_there_are_mutations_of_every_class(found: list[Mutation]) -> None:
    assert {one.group for one in found} == EXPECTED


async def test_a_mutation_leaves_the_rest_as_it_is(found: list[Mutation]) -> None:
    for one in found:
        text = one.apply(design().files)["rtl/m.v"]
        assert text != DESIGN
        data = DESIGN.encode()
        at, kept = 0, []
        for start, end, _ in one.edits:
            kept.append(data[at:start].decode())
            at = end
        position = 0
        for piece in (*kept, data[at:].decode()):
            position = text.index(piece, position) + len(piece)


@pytest.mark.parametrize(
    ("operator", "line", "now"),
    [
        ("reset polarity", 6, "@(posedge clk or posedge rst_n)"),
        ("asynchronous reset made synchronous", 6, "always @(posedge clk)"),
        ("other clock edge", 6, "@(negedge clk or negedge rst_n)"),
        ("concatenation reversed", 12, "{a[3:2], kept[1:0]} << 1"),
        ("operands swapped", 15, "(a) - (other)"),
        ("bodies of case items swapped", 14, "4'd1: y <= other - a;"),
        ("default dropped", 17, "default: ;"),
        ("reset value changed", 9, "kept <= 4'd4;"),
        ("non-blocking made blocking", 12, "other = {kept[1:0]"),
    ],
)
async def test_an_operator_makes_the_mistake_it_names(
    found: list[Mutation], operator: str, line: int, now: str
) -> None:
    made = [one.apply(design().files)["rtl/m.v"] for one in found if (one.operator, one.line) == (operator, line)]
    assert any(now in text for text in made), made


async def test_no_mutant_is_a_race_between_blocks(found: list[Mutation]) -> None:
    assert not [one for one in found if one.operator == "non-blocking made blocking" and one.line == 11]  # `assign c`


async def test_what_a_macro_wrote_is_left_alone(found: list[Mutation]) -> None:
    assert not [one for one in found if one.line == 1]
    assert all("`TOP" in one.apply(design().files)["rtl/m.v"] or one.group == "case" for one in found)


async def test_mutations_that_do_not_compile_are_dropped(trees: Trees) -> None:
    bad = Mutation(
        "select", "none", "rtl/m.v", 5, ((DESIGN.encode().index(b"a < b"), DESIGN.encode().index(b" < b"), "nobody"),)
    )
    good = Mutation(
        "select", "none", "rtl/m.v", 5, ((DESIGN.encode().index(b"a < b"), DESIGN.encode().index(b" < b"), "b"),)
    )
    assert await trees.that_compile(design(), [bad, good]) == [good]


async def test_the_choice_is_by_seed_and_spread_over_classes(found: list[Mutation]) -> None:
    first, again, other = (list(in_turn(found, seed)) for seed in ("1", "1", "2"))
    assert first == again != other
    assert sorted(map(repr, first)) == sorted(map(repr, found))
    assert len({one.group for one in first[: len(EXPECTED)]}) == len(EXPECTED)


async def test_an_output_is_stuck_while_the_design_inside_goes_on(trees: Trees) -> None:
    made = await trees.stuck_outputs(design(), "'0")
    assert set(made) == {("m", "y"), ("m", "c")}
    assert "y__driven <= kept ^ b" in made["m", "y"]["rtl/m.v"]
    assert "initial y = '0;" in made["m", "y"]["rtl/m.v"]
    assert "assign c = '0;" in made["m", "c"]["rtl/m.v"]
    for files in made.values():
        assert not await _errors(trees, files["rtl/m.v"])


async def test_names_inside_are_changed_and_ports_are_not(trees: Trees) -> None:
    files, names = await trees.renamed(design(), {"other"})
    assert names == ("kept",)
    text = files["rtl/m.v"]
    assert "renamed_kept <= a + b" in text
    assert "output reg [W-1:0] y" in text
    assert not await _errors(trees, text)


async def test_a_name_in_an_index_of_a_path_is_changed_once(trees: Trees) -> None:
    text = (
        "module m (input [1:0] a, output [1:0] y);\n  genvar at;\n"
        "  for (at = 0; at < 2; at = at + 1) begin : part\n"
        "    wire b = a[at];\n    assign y[at] = part[at].b;\n  end\nendmodule\n"
    )
    files, _ = await trees.renamed(design(text), set())
    assert "renamed_part[renamed_at].b;" in files["rtl/m.v"]


async def test_a_gutted_design_has_the_same_ports(trees: Trees) -> None:
    made = await trees.gutted(design())
    for files in made.values():
        text = files["rtl/m.v"]
        assert "kept" not in text
        assert not await _errors(trees, text)
        (module,) = await trees.modules(design(text))
        assert [port.name for port in module.ports] == ["clk", "rst_n", "a", "b", "y", "c"]


async def test_a_gutted_design_has_the_names_that_tests_look_for(trees: Trees) -> None:
    touched = {"m": {"kept": 1, "seen_clk": 1, "y": 9, "W": 3}, "another": {"no": 1}}
    made = {how: files["rtl/m.v"] for how, files in (await trees.gutted(design(), touched)).items()}
    assert "wire [3:0] kept; assign kept = '0;" in made["'0"]  # as wide as the design has it
    assert "wire seen_clk; assign seen_clk = clk;" in made["inputs"]
    assert "always @* y = {4{clk}};" in made["clock"]
    for text in made.values():
        assert not await _errors(trees, text)


async def test_what_has_no_clock_cannot_follow_it(trees: Trees) -> None:
    made = await trees.gutted(design("module m (input a, output y); assign y = a; endmodule\n"))
    assert set(made) == {"ports", "'0", "'1", "'x", "inputs"}


async def _errors(trees: Trees, text: str) -> bool:
    """Whether slang finds more in it than in the original: a mutation that changes nothing compiles only then."""
    nothing = Mutation("none", "none", "rtl/m.v", 1, ((0, 0, ""),))
    whole = Mutation("none", "none", "rtl/m.v", 1, ((0, len(DESIGN.encode()), text),))
    return await trees.that_compile(design(), [nothing, whole]) != [nothing, whole]


async def test_a_design_that_slang_cannot_stand_is_refused_in_words(trees: Trees) -> None:
    bomb = "".join(f"`define M{n + 1} `M{n} `M{n} `M{n} `M{n} `M{n} `M{n} `M{n} `M{n}\n" for n in range(12))
    with pytest.raises(WorkerFailed, match=r"MemoryError|no answer|ended"):
        await trees.mutations(design(f"`define M0 x x x x x x x x\n{bomb}\nmodule m; `M12 endmodule"))
    assert await trees.mutations(design())


async def test_every_bundled_reference_has_at_least_thirty(trees: Trees, bundled: dict[str, Problem]) -> None:
    for problem in bundled.values():
        assert problem.reference is not None
        one = Design(problem.reference, {path: text for path, text in problem.context.items() if path.endswith(".sv")})
        assert len(await trees.mutations(one)) >= 30, problem.id

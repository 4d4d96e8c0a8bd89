"""What Yosys proves equal: by registers of the same names, or by the states that are reached after a reset."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rtl_agent.audit.equivalence import Compared, Comparison
from rtl_agent.audit.trees import Design, Trees
from rtl_agent.problems import Problem
from rtl_agent.sandbox import make_sandbox
from rtl_agent.toolchain import find_toolchain

pytestmark = pytest.mark.asyncio(loop_scope="module")

# State 3 is never reached; `kept` is looked at in state 2 alone, which comes by state 1, where it is loaded.
FSM = """\
module fsm (input clk, input rst_n, input go, input d, output reg q);
  reg [1:0] state;
  reg kept;
  always @(posedge clk or negedge rst_n)
    if (!rst_n) begin
      state <= 0;
      kept <= 0;
    end else case (state)
      0: if (go) state <= 1;
      1: begin state <= 2; kept <= d; end
      2: state <= 0;
      3: state <= 1;
    endcase
  always @* q = state == 2 && kept;
endmodule
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trees() -> AsyncIterator[Trees]:
    trees = Trees(make_sandbox(1), find_toolchain())
    yield trees
    await trees.aclose()


async def proved(trees: Trees, right: str, *others: str) -> list[Compared]:
    design = Design({"fsm.v": right}, {})
    comparison = Comparison(make_sandbox(1), find_toolchain(), design, await trees.modules(design), (), "seed")
    return await comparison.prove([{"fsm.v": text} for text in others])


async def test_what_differs_only_where_nothing_comes_is_proved_equal(trees: Trees) -> None:
    dead, unlooked = FSM.replace("3: state <= 1", "3: state <= 2"), FSM.replace("kept <= 0;", "kept <= 1;")
    wrong, once = FSM.replace("1: begin state <= 2", "1: begin state <= 3"), FSM.replace("kept <= d", "kept <= !d")
    assert await proved(trees, FSM, dead, unlooked, wrong, once) == [
        Compared.PROVED,
        Compared.PROVED,
        Compared.UNKNOWN,
        Compared.UNKNOWN,
    ]


async def test_a_register_that_differs_until_it_is_loaded_is_proved_equal(
    trees: Trees, bundled: dict[str, Problem]
) -> None:
    """`duty_act` is loaded before `running` lets anybody see it. Reachability alone takes more than 30 s for that."""
    (right,) = (bundled["rtl_pwm_0001"].reference or {}).values()
    assert await proved(
        trees,
        right,
        right.replace("duty_act   <= '0", "duty_act   <= '1"),
        right.replace("running    <= 1'b0", "running    <= 1'b1"),
    ) == [Compared.PROVED, Compared.UNKNOWN]

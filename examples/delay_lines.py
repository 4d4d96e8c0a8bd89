"""A problem source of one's own: delay lines of 1 to 8 cycles, each with a harness and a reference.

An entry point `delay-lines = "delay_lines:delay_lines"` of the group `rtl_agent.problem_sources` in a package of yours
makes it a PROBLEMS argument: `rtl-agent eval delay-lines --model M`.
"""

from collections.abc import Iterator

import rtl_agent as ra

PROMPT = "Write the module `delay` in `rtl/delay.sv`: `q` (4 bits) is what `d` was N rising edges of `clk` before."
REFERENCE = """module delay (input clk, input [3:0] d, output [3:0] q);
    logic [3:0] line [N];
    always_ff @(posedge clk) for (int i = 0; i < N; i++) line[i] <= i == 0 ? d : line[i - 1];
    assign q = line[N - 1];
endmodule"""
TEST = """import random, cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from cocotb_tools.runner import get_runner

def test_delay():
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/delay.sv"], hdl_toplevel="delay")
    runner.test(hdl_toplevel="delay", test_module="test_delay")

@cocotb.test()
async def comes_out_later(dut):
    cocotb.start_soon(Clock(dut.clk, 10).start())
    sent = []
    for _ in range(100):
        await FallingEdge(dut.clk)
        assert len(sent) < N or dut.q.value == sent[-N]
        sent.append(random.randrange(16))
        dut.d.value = sent[-1]
"""
COMPOSE = "services: {test: {image: any, volumes: ['./src/:/src/:ro'], command: pytest /src/test_delay.py}}\n"


@ra.PROBLEM_SOURCES.register("delay-lines")
def delay_lines(argument: str, options: ra.LoadOptions) -> Iterator[ra.Problem]:
    """`delay-lines`, or `delay-lines:3` for the line of three cycles."""
    for cycles in [int(argument)] if argument else range(1, 9):
        prompt, reference, test = (text.replace("N", str(cycles)) for text in (PROMPT, REFERENCE, TEST))
        record = {
            "id": f"example_delay_line_{cycles:04}",
            "categories": ["cid003", "easy"],
            "input": {"prompt": prompt, "context": {}},
            "output": {"response": "", "context": {"rtl/delay.sv": reference}},
            "harness": {"files": {"docker-compose.yml": COMPOSE, "src/test_delay.py": test}},
        }
        yield ra.parse_record(record)


if __name__ == "__main__":
    with ra.SyncGrader() as grader:
        for problem in ra.load_problems("delay-lines"):
            print(problem.id, grader.grade(problem, ra.submit(problem, problem.reference or {})).outcome)

"""Designs for a long run: right ones, wrong ones, ones that do not compile, that never end, that attack."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from rtl_agent.bench.subjects import ARBITER, INVERTER, MOD, fresh, subjects
from rtl_agent.grading import Outcome, Submission
from rtl_agent.problems import Problem, load_near_misses

_PORTS = "module dut(input a, output y);\n  assign y = ~a;\n"
_WRONG = _PORTS.replace("~a", "a")
HOSTILE = {
    "ends the simulation": f"{_PORTS}  initial $finish;\nendmodule\n",
    "fails the simulation": f"{_PORTS}  initial #1 $fatal;\nendmodule\n",
    "forges the result file": _WRONG
    + '  integer f;\n  final begin f = $fopen("/code/rundir/sim_build/results.xml");\n'
    + '    $fwrite(f, "<testsuites><testsuite><testcase name=\\"inverts\\"/></testsuite></testsuites>");\n'
    + "  end\nendmodule\n",
    "claims success": f'{_WRONG}  initial $display("test_runner.py::test_dut PASSED\\n1 passed");\nendmodule\n',
    "is too large": f"{_WRONG}  wire [1 << 28:0] w = {{1 << 28{{a}}}};\nendmodule\n",
}
_HANG = f"{_PORTS}  reg r = 0;\n  initial forever #0 r = ~r;\nendmodule\n"
_EVERY_HANG, _EVERY_HOSTILE = 500, 50


@dataclass(frozen=True)
class Sent:
    """A submission, what it is, and the outcome that it must get."""

    kind: str
    problem: Problem
    submission: Submission
    outcome: Outcome


def mixture(count: int, seed: int = 1) -> Iterator[Sent]:
    """The same mixture for the same count."""
    random = Random(seed)
    problems = subjects()
    small = problems[INVERTER]
    misses = [miss for miss in load_near_misses() if miss.problem_id in (ARBITER, MOD)]
    hostile = sorted(HOSTILE)
    for number in range(count):
        if number % _EVERY_HANG == _EVERY_HANG // 2:
            yield Sent("does not end", small, fresh(small, {"rtl/dut.sv": _HANG}), Outcome.FAILED)
        elif number % _EVERY_HOSTILE == _EVERY_HOSTILE // 2:
            text = HOSTILE[hostile[number // _EVERY_HOSTILE % len(hostile)]]
            yield Sent("hostile", small, fresh(small, {"rtl/dut.sv": text}), Outcome.FAILED)
        elif (dice := random.random()) < 0.60:
            problem = problems[random.choices((INVERTER, ARBITER, MOD), (8, 1, 1))[0]]
            yield Sent("right", problem, fresh(problem), Outcome.PASSED)
        elif dice < 0.70:
            miss = random.choice(misses)
            problem = problems[miss.problem_id]
            yield Sent("wrong", problem, fresh(problem, dict(miss.files)), Outcome.FAILED)
        elif dice < 0.90:
            wire = _PORTS.replace("~a", "a") + "endmodule\n"
            yield Sent("wrong", small, fresh(small, {"rtl/dut.sv": wire}), Outcome.FAILED)
        else:
            yield Sent("does not compile", small, fresh(small, {"rtl/dut.sv": _PORTS}), Outcome.FAILED)

"""While a design runs nothing of the harness can be opened by name, on either path, under either cocotb."""

from dataclasses import replace

import pytest

from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.grading.seal import kept_while_simulated, named_files
from rtl_agent.problems import CocotbVersion, Problem
from rtl_agent.problems.generate import generate
from tests.grading.test_grader import INVERTER, plain

PATHS = (SimulationMode.EXACT, SimulationMode.FAST)
in_one_loop = pytest.mark.asyncio(loop_scope="module")

# Runs in the simulator's own process, with the rights that RTL has there, and opens whatever has a name.
WALK = """
import os
import cocotb
from cocotb.triggers import Timer
import beside
# the-harness-canary

def readable(word):
    for directory, below, names in os.walk("/"):
        below[:] = [name for name in below if os.path.join(directory, name) not in ("/usr", "/opt", "/lib", "/dev")]
        for name in names:
            path = os.path.join(directory, name)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            with os.fdopen(descriptor, "rb") as stream:
                if word in stream.read(1 << 22):
                    yield path

@cocotb.test()
async def nothing_of_the_harness_has_a_name(dut):
    await Timer(1)
    assert beside.VALUE == 7
    assert open("/src/data.txt").read() == "canary of the-harness-" + "canary"
    found = [*readable(b"the-harness-" + b"canary"), *readable(b"parametr" + b"ize")]
    assert not found, f"FOUND {found}"
"""
RUNNER = """
import pytest
from {runner} import get_runner

@pytest.mark.parametrize("number", range(3))
def test_it(number):
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/dut.sv"], hdl_toplevel="dut", always=True)
    runner.test(hdl_toplevel="dut", test_module="tests_of_dut")
"""


def with_harness(problem: Problem, cocotb_version: CocotbVersion, files: dict[str, str]) -> Problem:
    runner = "cocotb_tools.runner" if cocotb_version is CocotbVersion.V2 else "cocotb.runner"
    files = {"src/test_runner.py": RUNNER.format(runner=runner), **files}
    harness = replace(problem.harness, files={**problem.harness.files, **files}, cocotb_version=cocotb_version)
    return replace(problem, harness=harness)


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cocotb_version", list(CocotbVersion))
async def test_nothing_of_the_harness_has_a_name_while_a_design_runs(
    path: SimulationMode, cocotb_version: CocotbVersion, graders: dict[SimulationMode, Grader]
) -> None:
    files = {
        "src/tests_of_dut.py": WALK,
        "src/beside.py": "VALUE = 7  # the-harness-canary\n",
        "src/data.txt": "canary of the-harness-canary",
        "docker-compose.yml": "the-harness-canary",
    }
    problem = with_harness(plain(), cocotb_version, files)
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: INVERTER}))
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)
    assert grade.readable == ()


PARALLEL = """
import threading
from cocotb_tools.runner import get_runner

def simulate(name):
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/dut.sv"], hdl_toplevel="dut", build_dir=name, always=True)
    runner.test(hdl_toplevel="dut", test_module="tests_of_dut", build_dir=name, results_xml=f"/code/rundir/{name}.xml")

def test_two_at_once():
    threads = [threading.Thread(target=simulate, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    simulate("three")
"""


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
async def test_simulations_that_run_at_once_find_the_harness_and_no_names(
    path: SimulationMode, graders: dict[SimulationMode, Grader]
) -> None:
    files = {"src/beside.py": "VALUE = 7\n", "src/tests_of_dut.py": WALK}
    files["src/data.txt"] = "canary of the-harness-canary"
    problem = with_harness(plain(), CocotbVersion.V2, {**files, "src/test_runner.py": PARALLEL})
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: INVERTER}))
    assert grade.outcome is Outcome.PASSED, (grade.reasons, grade.log)
    assert len(grade.simulations) == 3


LOGGED = """
from cocotb_tools.runner import get_runner

def test_it():
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/dut.sv"], hdl_toplevel="dut", always=True)
    runner.test(hdl_toplevel="dut", test_module="tests_of_dut", log_file="/code/rundir/sim.log")
    log = open("/code/rundir/sim.log").read()
    print("THE LOG IS", "expected 42" in log, "forged" in log, "FOUND" in log)
    assert False
"""
TELLS = """
import cocotb
from cocotb.triggers import Timer

@cocotb.test()
async def tells(dut):
    dut._log.warning("expected 42")
    await Timer(9)
"""


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
async def test_what_tests_log_cannot_be_read_or_forged_while_a_design_runs(
    path: SimulationMode, graders: dict[SimulationMode, Grader]
) -> None:
    problem = with_harness(plain(), CocotbVersion.V2, {"src/tests_of_dut.py": TELLS, "src/test_runner.py": LOGGED})
    look = 'fd = $fopen("/code/rundir/sim.log", "r"); if (fd != 0 && $fgetc(fd) != -1) $display("FOUND the log");'
    forge = 'fd = $fopen("/code/rundir/sim.log", "w"); repeat (5000) $fwrite(fd, "forged\\n"); $fclose(fd);'
    spy = INVERTER.replace("endmodule", f"integer fd; initial #5 begin {look} {forge} end\nendmodule")
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: spy}))
    assert "THE LOG IS True False False" in grade.log, (grade.reasons, grade.log)


DRAWS = """
import random
import cocotb
from cocotb.triggers import Timer
random.seed()
AT_IMPORT = random.random()

@cocotb.test()
async def draws(dut):
    await Timer(1)
    first = random.random()
    random.seed()
    again = random.Random().random()
    raise AssertionError(f"drawn {AT_IMPORT} {first} {random.random()} {again}")
"""


@in_one_loop
@pytest.mark.parametrize("cocotb_version", list(CocotbVersion))
async def test_each_simulation_has_a_seed_of_its_own_and_the_same_one_on_both_paths(
    cocotb_version: CocotbVersion, graders: dict[SimulationMode, Grader]
) -> None:
    problem = with_harness(plain(), cocotb_version, {"src/tests_of_dut.py": DRAWS})
    submission = submit(problem, {problem.targets[0]: INVERTER})
    exact, fast = [
        await graders[path].grade(problem, submission) for path in (SimulationMode.EXACT, SimulationMode.FAST)
    ]
    drawn = [[test.message for test in grade.tests if test.item] for grade in (exact, fast)]
    assert drawn[0] == drawn[1]
    assert exact.simulations == fast.simulations
    assert len({simulation.seed for simulation in exact.simulations}) == 3
    values = [value for message in drawn[0] for value in (message or "").split()[1:]]
    assert len(values) == len(set(values)) == 12, values
    again = await graders[SimulationMode.EXACT].grade(problem, submission)
    assert [test.message for test in again.tests] == [test.message for test in exact.tests]
    other = await graders[SimulationMode.FAST].grade(
        problem, submit(problem, {problem.targets[0]: INVERTER + "// other\n"})
    )
    assert not {simulation.seed for simulation in other.simulations} & {one.seed for one in exact.simulations}


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
async def test_a_seed_that_a_harness_fixes_stays(path: SimulationMode, graders: dict[SimulationMode, Grader]) -> None:
    problem = with_harness(plain(), CocotbVersion.V2, {"src/tests_of_dut.py": DRAWS})
    service = problem.harness.services[0]
    fixed = replace(service, env={**service.env, "RANDOM_SEED": "1234"})
    problem = replace(problem, harness=replace(problem.harness, services=(fixed,)))
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: INVERTER}))
    assert [simulation.seed for simulation in grade.simulations] == [1234] * 3


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
async def test_a_file_that_a_given_design_reads_stays_and_the_grade_says_so(
    path: SimulationMode, graders: dict[SimulationMode, Grader]
) -> None:
    test = "import cocotb\nfrom cocotb.triggers import Timer\n@cocotb.test()\nasync def t(dut):\n    await Timer(9)\n"
    files = {"src/tests_of_dut.py": test, "src/table.hex": "00 01\n", "src/other.hex": "02 03\n"}
    problem = with_harness(plain(), CocotbVersion.V2, files)
    given = 'module table; reg [7:0] t [0:1]; initial $readmemh("/src/table.hex", t); endmodule\n'
    problem = replace(problem, context={**problem.context, "rtl/table.sv": given})
    look = 'integer fd, gd; initial begin fd = $fopen("/src/table.hex", "r"); gd = $fopen("/src/other.hex", "r");'
    look += ' $display("READ %0d %0d", fd != 0, gd != 0); $finish; end'
    spy = INVERTER.replace("endmodule", f"{look}\nendmodule")
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: spy}))
    assert "READ 1 0" in grade.log, grade.log
    assert grade.readable == ("/src/table.hex",)


@in_one_loop
@pytest.mark.parametrize("path", PATHS)
async def test_the_vectors_of_a_generated_problem_cannot_be_read(
    path: SimulationMode, graders: dict[SimulationMode, Grader]
) -> None:
    problem = generate(5, 1)[0]
    look = "".join(
        f'fd = $fopen("/src/{name}", "r"); if (fd != 0) $display("FOUND {name}");'
        for name in ("vectors.txt", "ports.py", "replay.py", "test_runner.py", "all_ports.v")
    )
    spy = f'module spy; integer fd; initial begin {look} $display("LOOKED"); $finish; end endmodule\n'
    assert problem.reference is not None
    reference = problem.reference[problem.targets[0]]
    hidden = reference.replace("endmodule", "spy looks_around ();\nendmodule") + spy
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: hidden}))
    assert "LOOKED" in grade.log, (grade.reasons, grade.log)
    assert "FOUND" not in grade.log, grade.log
    assert grade.readable == ("/src/all_ports.v",)  # among the sources that are compiled


def test_what_a_command_names_and_what_that_names_stays() -> None:
    files = {"src/synth.tcl": "read_verilog /src/cells.v\n", "src/cells.v": "", "src/test.py": "", "Dockerfile": ""}
    problem = replace(plain(), harness=replace(plain().harness, files=files))
    assert named_files(problem, "yosys -s /src/synth.tcl") == {"/src/synth.tcl", "/src/cells.v"}
    assert named_files(problem, "iverilog /code/rtl/a.sv") == frozenset()
    assert kept_while_simulated(problem) == ()

"""Whatever a harness seeds a generator from, the same text meets the same stimulus, and each simulation another one."""

from dataclasses import replace

import pytest

from rtl_agent.grading import Grade, Grader, Outcome, SimulationMode, submit
from rtl_agent.problems import CocotbVersion
from tests.grading.test_grader import INVERTER, plain
from tests.grading.test_seal import in_one_loop, with_harness

DRAWS = """
import datetime, multiprocessing, os, pathlib, posix, random, resource, secrets, subprocess, sys, tempfile, threading
import time, timeit, uuid
from dataclasses import dataclass, field
import cocotb
from cocotb.triggers import Timer

@dataclass
class Packet:
    number: int = field(default_factory=time.time_ns)

def forked():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, str(random.random()).encode())
        os._exit(0)
    os.wait()
    return os.read(reading, 100).decode()

SCRIPT = [sys.executable, "-c", "import os, random; print(random.random(), os.urandom(4))"]

SOURCES = {
    "generator": lambda: random.random(),
    "own generator": lambda: random.Random().random(),
    "system": lambda: random.SystemRandom().random(),
    "secrets": lambda: secrets.token_hex(8),
    "urandom": lambda: os.urandom(8).hex(),
    "uuid1": lambda: uuid.uuid1().hex,
    "uuid4": lambda: uuid.uuid4().hex,
    "time": lambda: time.time(),
    "microseconds": lambda: int(time.time() * 1e6) % 1000003,
    "time_ns": lambda: time.time_ns(),
    "perf_counter": lambda: time.perf_counter(),
    "monotonic_ns": lambda: time.monotonic_ns(),
    "process_time": lambda: time.process_time(),
    "generated code": lambda: Packet().number,
    "strftime": lambda: time.strftime("%H:%M:%S"),
    "localtime": lambda: tuple(time.localtime())[:6],
    "now": lambda: datetime.datetime.now().isoformat(),
    "utcnow": lambda: datetime.datetime.utcnow().microsecond,
    "timestamp": lambda: datetime.datetime.now(datetime.timezone.utc).timestamp(),
    "process": lambda: os.getpid(),
    "parent": lambda: os.getppid(),
    "thread": lambda: threading.get_ident(),
    "address": lambda: id(object()),
    "hash": lambda: hash(object()),
    "hash of a string": lambda: hash("stimulus"),
    "hash of a tuple": lambda: hash(("stimulus", 1)),
    "main thread": lambda: threading.current_thread().ident,
    "process of a library": lambda: multiprocessing.current_process().pid,
    "kernel clock": lambda: time.clock_gettime(time.CLOCK_REALTIME),
    "kernel clock in ns": lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC),
    "usage": lambda: resource.getrusage(resource.RUSAGE_SELF).ru_utime,
    "device": lambda: open("/dev/urandom", "rb").read(8).hex(),
    "unbuffered device": lambda: open("/dev/random", "rb", buffering=0).read(8).hex(),
    "device by its number": lambda: os.read(os.open("/dev/urandom", os.O_RDONLY), 8).hex(),
    "device by a path": lambda: pathlib.Path("/dev/urandom").open("rb").read(8).hex(),
    "device as text": lambda: ascii(open("/dev/urandom", encoding="latin-1").read(8)).replace("|", "").replace("=", ""),
    "device by bytes": lambda: open(b"/dev/urandom", "rb").read(8).hex(),
    "device by another name": lambda: open("/dev/../dev//urandom", "rb").read(8).hex(),
    "device's number by another name": lambda: os.read(os.open("/dev/./random", os.O_RDONLY), 8).hex(),
    "session": lambda: os.getsid(0),
    "group": lambda: os.getpgid(os.getpid()),
    "stop watch": lambda: timeit.default_timer(),
    "name of a temporary file": lambda: tempfile.mktemp(),
    "node": lambda: uuid.getnode(),
    "ctime": lambda: time.ctime(),
    "times": lambda: os.times().elapsed,
    "native thread": lambda: threading.current_thread().native_id,
    "the system's module": lambda: posix.urandom(8).hex(),
    "fork": forked,
    "script": lambda: subprocess.run(SCRIPT, capture_output=True).stdout,
}

@cocotb.test()
async def draws(dut):
    await Timer(1)
    raise AssertionError("|".join(f"{name}={draw()!r}" for name, draw in SOURCES.items()))
"""


def drawn(grade: Grade) -> list[dict[str, str]]:
    """What each simulation has drawn, by its source."""
    assert grade.outcome is Outcome.FAILED, grade.reasons
    messages = [test.message or "" for test in grade.tests if test.item]
    assert all("|" in message for message in messages), messages
    return [dict(part.split("=", 1) for part in message.split("|")) for message in messages]


@in_one_loop
@pytest.mark.parametrize("cocotb_version", list(CocotbVersion))
async def test_chance_is_the_jobs_whatever_it_is_drawn_from(
    cocotb_version: CocotbVersion,
    graders: dict[SimulationMode, Grader],
) -> None:
    problem = with_harness(plain(), cocotb_version, {"src/tests_of_dut.py": DRAWS})
    submission = submit(problem, {problem.targets[0]: INVERTER})
    exact = drawn(await graders[SimulationMode.EXACT].grade(problem, submission))
    assert drawn(await graders[SimulationMode.FAST].grade(problem, submission)) == exact
    assert drawn(await graders[SimulationMode.FAST].grade(problem, submission)) == exact
    for source in exact[0]:
        values = [simulation[source] for simulation in exact]
        assert len(set(values)) == len(values) == 3, (source, values)


@in_one_loop
@pytest.mark.parametrize("path", [SimulationMode.EXACT, SimulationMode.FAST])
async def test_each_service_has_a_seed_of_its_own(path: SimulationMode, graders: dict[SimulationMode, Grader]) -> None:
    problem = with_harness(plain(), CocotbVersion.V2, {"src/tests_of_dut.py": DRAWS})
    first = problem.harness.services[0]
    services = (first, replace(first, name="again"))
    problem = replace(problem, harness=replace(problem.harness, services=services))
    grade = await graders[path].grade(problem, submit(problem, {problem.targets[0]: INVERTER}))
    assert len({simulation.seed for simulation in grade.simulations}) == len(grade.simulations) == 6

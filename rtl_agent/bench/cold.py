"""What grading is compared with: the harness as CVDP runs it, its own Python alone, and a testbench without Python.

Each runs in a box that is open before, without the probe, and only the CPU of the command's own processes counts: a
container that starts first, as CVDP's does, would cost more.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files

from rtl_agent.bench.subjects import with_clocks
from rtl_agent.grading import Submission
from rtl_agent.grading.workspace import RUNDIR
from rtl_agent.problems import Problem
from rtl_agent.sandbox import MIB, Box, BoxSpec, CommandResult, Limits, Sandbox
from rtl_agent.toolchain import Toolchain

_LIMITS = Limits(wall_seconds=120, cpu_seconds=120)
_CLOCKS = f"{RUNDIR}/clocks.txt"
# In pytest's process: the CPU of each compiler run, from wait4's account of ended children; and of the harness's own
# function, which builds and starts the simulation, without what it starts.
_RUNNER_CLOCK = f"""\
def _clock_compilers():
    import resource, subprocess
    run = subprocess.run
    def clocked(args, *rest, **options):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run(args, *rest, **options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if "iverilog" in str(args[0]):
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            open("{_CLOCKS}", "a").write(f"compile {{used}}\\n")
        return done
    subprocess.run = clocked
_clock_compilers()
import pytest as _pytest
@_pytest.fixture(autouse=True)
def _clock_runner():
    import time
    began = time.process_time()
    yield
    open("{_CLOCKS}", "a").write(f"python {{time.process_time() - began}}\\n")
"""
# In the simulator's process: from the start of the first test to the end of the last, imports and start-up left out.
_TEST_CLOCK = f"""
def _clock_tests():
    import time
    from cocotb.regression import RegressionManager as manager
    first = "start_regression" if hasattr(manager, "start_regression") else "_execute"
    start, end, began = getattr(manager, first), manager._tear_down, []
    def clocked_start(self):
        began.append(time.process_time())
        return start(self)
    def clocked_end(self):
        open("{_CLOCKS}", "a").write(f"python {{time.process_time() - began[0]}}\\n")
        return end(self)
    setattr(manager, first, clocked_start)
    manager._tear_down = clocked_end
_clock_tests()
"""


_ALIAS_PLACE = f"{RUNDIR}/.alias"
_ALIAS = """\
import importlib.machinery, sys
class Alias:
    def find_spec(self, name, path=None, target=None):
        if name in ("cocotb.runner", "cocotb_tools.runner", "cocotb_tools"):
            return importlib.machinery.ModuleSpec(name, self, is_package=name == "cocotb_tools")
    def create_module(self, spec):
        if spec.name == "cocotb_tools":
            return None
        other = "cocotb_tools.runner" if spec.name == "cocotb.runner" else "cocotb.runner"
        __import__(other)
        return sys.modules[other]
    def exec_module(self, module):
        pass
sys.meta_path.append(Alias())
"""


class BaselineFailed(Exception):
    """A reference did not pass its own harness, so there is nothing to compare with."""


class Cold:
    """Runs harnesses cold. Every call opens a box of its own."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain) -> None:
        self._sandbox, self._toolchain = sandbox, toolchain

    async def as_cvdp(self, problem: Problem, submission: Submission) -> float:
        """CPU seconds of the service's command: pytest, the compiler, the simulator, all started from nothing."""
        async with self._laid_out(problem, submission) as box:
            return (await self._run(box, problem)).cpu_seconds

    async def every_service(self, problem: Problem, submission: Submission, seconds: float) -> list[CommandResult]:
        """Each service's command in turn, whatever comes of it.

        A harness that names the runner of the other cocotb generation gets it, as in a grade: else it ends when it is
        imported, and there is nothing to compare.
        """
        limits = Limits(wall_seconds=seconds, cpu_seconds=seconds)
        tools = self._toolchain.env(problem.harness.cocotb_version)
        done = []
        async with self._laid_out(problem, submission) as box:
            await box.write(f"{_ALIAS_PLACE}/sitecustomize.py", _ALIAS.encode())
            for service in problem.harness.services:
                env = {"LANG": "C.UTF-8", **service.env, **tools, "HOME": RUNDIR}
                env["PYTHONPATH"] = f"{_ALIAS_PLACE}:{env.get('PYTHONPATH', '')}"
                done.append(await box.run(service.argv, env=env, cwd=RUNDIR, limits=limits))
        return done

    async def own_python(self, problem: Problem, submission: Submission) -> dict[str, float]:
        """CPU seconds that no grader can save: compiling, the harness's runner, and its tests in the simulator."""
        async with self._laid_out(with_clocks(problem, _RUNNER_CLOCK, _TEST_CLOCK), submission) as box:
            await self._run(box, problem)
            lines = (await box.read(_CLOCKS)).decode().split("\n")
        found = {"compile": 0.0, "python": 0.0}
        for kind, used in (line.split() for line in lines if line):
            found[kind] += float(used)
        return found

    async def floor(self, problem: Problem, submission: Submission) -> float:
        """CPU seconds of iverilog and vvp with the arbiter's tests written in Verilog."""
        env = self._env(problem)
        async with self._laid_out(problem, submission) as box:
            bench = files("rtl_agent.bench").joinpath("arbiter_testbench.sv").read_bytes()
            await box.write(f"{RUNDIR}/bench.sv", bench)
            sources = [f"/code/{path}" for path in problem.targets]
            build = ["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.sv", *sources]
            used = 0.0
            for argv in (build, ["vvp", "-n", "bench.vvp"]):
                done = await box.run(argv, env=env, cwd=RUNDIR, limits=_LIMITS)
                used += done.cpu_seconds
            if b"cycles, all right" not in done.stdout:
                raise BaselineFailed((done.stdout + done.stderr).decode(errors="replace")[-600:])
        return used

    async def _run(self, box: Box, problem: Problem) -> CommandResult:
        service = problem.harness.services[0]
        done = await box.run(service.argv, env=self._env(problem), cwd=RUNDIR, limits=_LIMITS)
        if not done.ok:
            raise BaselineFailed((done.stdout + done.stderr).decode(errors="replace")[-600:])
        return done

    def _env(self, problem: Problem) -> Mapping[str, str]:
        service = problem.harness.services[0]
        tools = self._toolchain.env(problem.harness.cocotb_version)
        return {"LANG": "C.UTF-8", **service.env, **tools, "HOME": RUNDIR}

    @asynccontextmanager
    async def _laid_out(self, problem: Problem, submission: Submission) -> AsyncIterator[Box]:
        tools = self._toolchain
        mounts = tools.mounts(problem.harness.cocotb_version)
        spec = BoxSpec(mounts=mounts, writable=("/code", "/src"), links=tools.links(), disk_bytes=64 * MIB)
        async with self._sandbox.open(spec) as box:
            everything = {**problem.context, **problem.harness.files, **submission.files}
            for path, text in everything.items():
                await box.write(f"/{path}" if path.startswith("src/") else f"/code/{path}", text.encode())
            await box.run(["mkdir", "-p", RUNDIR])
            yield box

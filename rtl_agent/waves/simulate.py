"""A service of a problem's harness once more, with the seed of the grade and with waves.

The exact path in a box of its own, under the limits of a grade. A warm simulator takes the same seeds and gives the
same verdict, so it does not matter which path the grade took; where tests end otherwise all the same, that is said.
"""

from collections.abc import Mapping, Sequence

from rtl_agent.grading import Grade, Submission, TestResult
from rtl_agent.grading.dump import Choose, Dump, DumpedSimulation, Keep
from rtl_agent.grading.exact import ExactPath
from rtl_agent.grading.harness_python import simulates
from rtl_agent.grading.job import service_seed
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain

_MOST_DIFFERENCES = 3


class NoWaves(Exception):
    """There are no waves to be had here. The message says why, in a sentence."""


class WaveSimulator:
    """Simulates again. ToolMissing where the module that writes waves cannot be built."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, *, timeout_seconds: float = 120.0) -> None:
        self._exact = ExactPath(sandbox, toolchain, timeout_seconds=timeout_seconds)
        self._module = toolchain.dump()

    async def simulate(
        self,
        problem: Problem,
        service: Service,
        submission: Submission,
        seed: int,
        keep: Keep,
        choose: Choose = lambda simulations: simulations,
        from_ns: float = 0.0,
    ) -> Sequence[TestResult]:
        """The tests as they ended this time. `seed` is the grade's; `keep` gets the VCD of each chosen simulation."""
        number = problem.harness.services.index(service)
        dump = Dump(self._module, keep, choose, from_ns)
        own = service_seed(seed, number)
        run = await self._exact.run(problem, service, submission, own, with_syntax=False, dump=dump)
        return run.verdict.tests


def simulating_services(problem: Problem) -> list[Service]:
    """Those whose waves can be had: cocotb's runner starts Icarus. Others lint, synthesise, or run Verilator."""
    return [
        service
        for service in problem.harness.services
        if simulates(problem, service) and service.env.get("SIM", "icarus") == "icarus"
    ]


def service_named(problem: Problem, name: str) -> Service:
    """NoWaves for a service that has none."""
    service = next((one for one in problem.harness.services if one.name == name), None)
    if service is None:
        raise NoWaves(f"The problem as it is here has no service {name!r}: it was changed since the grade.")
    if service not in simulating_services(problem):
        simulator = service.env.get("SIM", "icarus")
        why = f"its simulator is {simulator}" if simulator != "icarus" else "it lints or synthesises"
        raise NoWaves(f"The service {name} runs no Icarus simulation ({why}), so it has no waves.")
    return service


def unlike_grade(before: Grade, service: str, after: Sequence[TestResult]) -> list[str]:
    """How the tests of a service ended otherwise than in the grade, in sentences; empty where they did not."""
    old = _by_place([test for test in before.tests if test.service == service])
    new = _by_place(after)
    said = []
    for place in dict.fromkeys((*old, *new)):
        was, now = old.get(place), new.get(place)
        if was is None or now is None:
            said.append(f"{place[1]} {'did not run' if now is None else 'was not there'} {_WHEN[now is None]}")
        elif was.passed != now.passed:
            said.append(f"{place[1]} {_ended(now)} this time, and {_ended(was)} in the grade")
        elif was.time_ns != now.time_ns:
            said.append(f"{place[1]} ended at {now.time_ns} ns this time, and at {was.time_ns} ns in the grade")
    left = len(said) - _MOST_DIFFERENCES
    return [*said[:_MOST_DIFFERENCES], *([f"{left} more tests differ"] if left > 0 else [])]


_WHEN = {True: "this time", False: "in the grade"}


def _by_place(tests: Sequence[TestResult]) -> Mapping[tuple[str, str, int], TestResult]:
    """Of tests that a harness repeats, one after the other."""
    found: dict[tuple[str, str, int], TestResult] = {}
    for test in tests:
        number = sum(1 for item, name, _ in found if (item, name) == (test.item, test.name))
        found[test.item, test.name, number] = test
    return found


def _ended(test: TestResult) -> str:
    return {True: "passed", False: "failed", None: "was skipped"}[test.passed]


def simulation_of(test: TestResult, simulations: Sequence[DumpedSimulation]) -> DumpedSimulation | None:
    """The one that a test of the grade ran in; of several with a test of that name the one that ended like it."""
    own = [one for one in simulations if one.item in (test.item, "")]
    exact = [one for one in own if _reported(one, test) == (test.passed, test.time_ns)]
    failing = [one for one in own if any(not message.get("passed") for message in one.tests.values())]
    named = [one for one in own if test.name in one.tests]
    # A test that did not report is in a simulation that ended before it: the last one of its item.
    return next(iter((*exact, *(one for one in failing if one in named), *named, *own[-1:])), None)


def _reported(simulation: DumpedSimulation, test: TestResult) -> tuple[object, object] | None:
    message = simulation.tests.get(test.name)
    return None if message is None else (message.get("passed"), message.get("time_ns"))

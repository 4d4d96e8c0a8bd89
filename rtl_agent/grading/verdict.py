"""Messages of the private channel -> what one service showed. Pure: no process, no file, no clock."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rtl_agent.grading.channel import Message
from rtl_agent.grading.grade import Checks, Compared, SimulationResult, TestResult


@dataclass(frozen=True)
class ServiceVerdict:
    """How one service judged. `score` is the part of its expected pytest items that is right."""

    service: str
    passed: bool
    score: float
    tests: tuple[TestResult, ...] = ()
    reasons: tuple[str, ...] = ()
    simulations: tuple[SimulationResult, ...] = ()  # those whose cocotb tests started
    readable: tuple[str, ...] = ()  # files of the harness that stayed readable to a tool
    builds: int = 0
    failed_builds: tuple[str, ...] = ()  # what the compiler said
    told: tuple[tuple[str, ...], ...] = ()  # macros and directories (-D, -I) that builds were given, each set once
    netlists: int = 0  # that took the place of the design, in netlist mode
    missing_netlists: tuple[str, ...] = ()  # what Yosys said
    looped: bool = False  # gates of a netlist drive themselves
    names: tuple[str, ...] = ()  # of all tests that there are, where only some were asked for


@dataclass
class _Simulation:
    item: str
    seed: int
    announced: list[str] | None = None
    results: list[Message] = field(default_factory=list)
    checks: list[Message] = field(default_factory=list)  # of each test, and of its second pass
    ended: bool = False
    named: bool = False  # it named all its tests, and ran those that were asked for: perhaps none


def judge_service(service: str, expected: Sequence[str], messages: Sequence[Message]) -> ServiceVerdict:
    """A service passes when every item expected without the design was reported as passed, each simulation named its
    tests before time 0 and reported every one as passed, and nothing was tampered with."""
    items: dict[str, Message] = {}
    collected: list[str] = []
    simulations: dict[int, _Simulation] = {}
    failed_builds: dict[str, str] = {}  # item -> what the compiler said
    readable: dict[str, None] = {}
    reasons: list[str] = []
    missing_netlists: list[str] = []
    told: dict[tuple[str, ...], None] = {}
    there: dict[str, None] = {}
    builds, netlists, session_exit, looped = 0, 0, None, False
    for message in messages:
        match message:
            case {"kind": "collected", "items": names}:
                collected += names
            case {"kind": "collect-error", "message": words}:
                reasons.append(f"the harness could not be collected: {_last_line(words)}")
            case {"kind": "item", "name": name}:
                items[name] = message
            case {"kind": "simulation", "sim": number, "item": item, "seed": seed}:
                simulations[number] = _Simulation(item or "", seed)
            case {"kind": "readable", "path": path}:
                readable[path] = None
            case {"kind": "announced", "sim": number, "tests": names} if number in simulations:
                simulations[number].announced = (simulations[number].announced or []) + names
            case {"kind": "test", "sim": number} if number in simulations:
                simulations[number].results.append(message)
            case {"kind": "checks", "sim": number} if number in simulations:
                simulations[number].checks.append(message)
            case {"kind": "regression-end", "sim": number} if number in simulations:
                simulations[number].ended = True
            case {"kind": "build", "exit": code, "said": said, "item": item}:
                builds += 1
                told[tuple(message.get("told", ()))] = None
                if code != 0:
                    failed_builds[item or ""] = said
            case {"kind": "netlist", "built": built, "said": said}:
                netlists += built
                looped = looped or bool(message.get("loop"))
                missing_netlists += [] if built else [said]
                reasons += [said] if message.get("unlike") else []
            case {"kind": "names", "sim": number, "tests": names}:
                there.update(dict.fromkeys(names))
                if number in simulations:
                    simulations[number].named = True
            case {"kind": "tampered", "path": path}:
                reasons.append(f"the design changed {path} while it was simulated")
            case {"kind": "flooded"}:
                reasons.append("the simulation printed without end")
            case {"kind": "session-end", "exit": code}:
                session_exit = code
    if collected and Counter(collected) != Counter(expected):
        reasons.append("the harness has other tests with this design than without it")
    tests: list[TestResult] = []
    scores: list[float] = []
    for name in expected:
        own = [simulation for simulation in simulations.values() if simulation.item == name]
        report = items.get(name)
        if name in failed_builds and report is not None:
            report = {**report, "message": f"it does not compile: {_first_line(failed_builds[name])}"}
        results, fraction = _judge_item(service, name, report, own, reasons)
        tests += results
        scores += [] if fraction is None else [fraction]
    if session_exit not in (0, None) and not reasons:
        reasons.append(f"pytest ended with exit code {session_exit}")
    good = bool(scores) and all(score == 1.0 for score in scores) and session_exit == 0 and not reasons
    if not good and not reasons:
        reasons.append("not every expected test reported")
    return ServiceVerdict(
        service=service,
        passed=good,
        score=1.0 if good else min(sum(scores) / len(scores), 0.999) if scores else 0.0,
        tests=tuple(tests),
        reasons=tuple(dict.fromkeys(reasons)),
        simulations=tuple(
            _as_result(service, simulation) for simulation in simulations.values() if simulation.announced
        ),
        readable=tuple(readable),
        builds=builds,
        failed_builds=tuple(failed_builds.values()),
        told=tuple(told),
        netlists=netlists,
        missing_netlists=tuple(dict.fromkeys(missing_netlists)),
        looped=looped,
        names=tuple(there),
    )


def _as_result(service: str, simulation: _Simulation) -> SimulationResult:
    times = [result["time_ns"] for result in simulation.results if result.get("time_ns") is not None]
    first = [counts for counts in simulation.checks if not counts["second"]]
    return SimulationResult(
        service=service,
        item=simulation.item,
        seed=simulation.seed,
        tests=len(simulation.announced or ()),
        passed=sum(1 for result in simulation.results if result["passed"]),
        time_ns=max(times, default=None),
        evaluated=sum(counts["evaluated"] for counts in first) if first else None,
        held=sum(counts["held"] for counts in first) if first else None,
    )


def _checks(name: str, messages: Sequence[Message]) -> Checks | None:
    """What the checks of a test found: until it ended, and, if it had one, in its second pass."""
    own = [counts for counts in messages if counts["name"] == name]
    if not own:
        return None
    first, last = own[0], own[-1]
    return Checks(
        evaluated=first["evaluated"],
        held=first["held"],
        other=first["other"],
        changes_held=first["changes_held"],
        changes=last["changes"],
        whole=last["whole"],
        time_ns=first["time_ns"],
        signals={signal: Compared(*counts) for signal, counts in last["signals"].items()},
    )


def _judge_item(
    service: str, name: str, report: Message | None, simulations: Sequence[_Simulation], reasons: list[str]
) -> tuple[list[TestResult], float | None]:
    """The item and the cocotb tests in it; its score, None when it was skipped."""
    results: list[TestResult] = []
    for simulation in simulations:
        results += _judge_simulation(service, name, simulation, reasons)
    passed = None if report is None else report.get("passed")
    message = "did not report" if report is None else report.get("message")
    if report is None:
        reasons.append(f"{name} did not report")
    elif passed is False:
        failing = sum(1 for result in results if not result.passed)
        if failing:
            message = f"{failing} of {len(results)} cocotb tests failed"
        else:
            reasons.append(f"{name}: {_first_line(message or '')}")
    whole = TestResult(name, False if report is None else passed, message, service=service)
    if report is not None and passed is None and not results:
        return [whole], None
    good = sum(1 for result in results if result.passed)
    if not results:
        return [whole], 1.0 if whole.passed else 0.0
    fraction = good / len(results)
    return [*results, whole], fraction if whole.passed else min(fraction, 0.999)


def _judge_simulation(service: str, item: str, simulation: _Simulation, reasons: list[str]) -> list[TestResult]:
    if simulation.named and not simulation.announced:
        return []
    if not simulation.announced:
        reasons.append(f"{item}: the simulation ended before its tests were known")
        return [TestResult("simulation", False, "did not start its tests", service=service, item=item)]
    reported = {str(result["name"]): result for result in simulation.results}
    found: list[TestResult] = []
    for name in simulation.announced:
        result = reported.get(name)
        if result is None:
            found.append(TestResult(name, False, "did not report", service=service, item=item))
            reasons.append(f"{name} did not report: the simulation ended early")
            continue
        found.append(
            TestResult(
                name,
                bool(result["passed"]),
                result.get("message"),
                time_ns=result.get("time_ns"),
                where=result.get("where"),
                service=service,
                item=item,
                checks=_checks(name, simulation.checks),
            )
        )
        if not result["passed"]:
            reasons.append(f"{name}: {_first_line(result.get('message') or '')}")
    if not simulation.ended:
        reasons.append(f"{item}: the simulation ended before its regression did")
    if len(simulation.results) != len(simulation.announced):
        reasons.append(f"{item}: {len(simulation.announced)} tests announced, {len(simulation.results)} reported")
    return found


def _first_line(words: str) -> str:
    """An assertion's own words; the lines after them are pytest's account of the comparison."""
    return next((line.strip() for line in words.splitlines() if line.strip()), "failed")


def _last_line(words: str) -> str:
    """What a traceback comes to; pytest marks that line with an E."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1].removeprefix("E ").strip() if lines else "failed"

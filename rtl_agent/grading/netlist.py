"""What is synthesised is what was simulated: the problem's own tests pass on the netlist that Yosys builds as well.

Yosys and a simulator read one text differently: a process whose sensitivity list names what never changes, a delay, an
attribute. A service that counts cells does not see that. So where a problem has such a service, and everything has
passed, the simulating services run once more in netlist mode (probe/rtl_agent_probe_netlist.py).
"""

import ast
import json
import re
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import replace
from functools import partial

from rtl_agent.grading.grade import TestResult
from rtl_agent.grading.harness_python import named_text, simulates
from rtl_agent.grading.hiding import given_macros
from rtl_agent.grading.ports import declared_ports
from rtl_agent.grading.services import ServiceRun
from rtl_agent.grading.verdict import ServiceVerdict
from rtl_agent.problems import Problem, Service

PLAN = "RTL_AGENT_NETLIST"

_SCRIPT = re.compile(r"\byosys\b[^\n\"']*?\s-[sc]\s+/(src/[\w./-]+)")
_LOOKED_AT = re.compile(r"\b(?:dut|tb|top|uut)\w*\.(\w+)")
_NO_SUCH_NAME = re.compile(r"contains no (?:child )?object named (\w+)")

Run = Callable[[Service], Awaitable[ServiceRun]]


async def netlist_runs(problem: Problem, runs: Sequence[ServiceRun], run: Run) -> list[ServiceRun]:
    """The runs of a problem's services, the synthesising ones with what the tests say of their netlist.

    Nothing is run unless everything has passed so far: a design that fails already pays nothing.
    """
    judged = list(runs)
    services = problem.harness.services
    if not all(one.verdict.passed for one in runs):
        return judged
    for index, service in enumerate(services):
        plan = netlist_plan(problem, service)
        if plan is None:
            continue
        for simulating in (one for one in services if simulates(problem, one)):
            judged[index] = await _with_netlist(judged[index], simulating, plan, run, partial(_drives, problem))
    return judged


def netlist_plan(problem: Problem, service: Service) -> dict[str, object] | None:
    """What the probe needs to build the netlist of a service; None for one that does not synthesise."""
    text = " ".join(service.argv) + "\n" + named_text(problem, service)
    if simulates(problem, service) or not re.search(r"\byosys\b", text):
        return None
    files = problem.harness.files
    named = [files[path] for path in _SCRIPT.findall(text) if path in files]
    sources = service.env.get("VERILOG_SOURCES", "")
    top = service.env.get("TOPLEVEL", "")
    script = named[0] if named else f"read_verilog -sv {sources}\nsynth -top {top}\n"
    looked_at = {name for path, body in files.items() if path.endswith(".py") for name in _LOOKED_AT.findall(body)}
    names = sorted(name for name in looked_at if not name.startswith("_"))
    return {
        "script": script,
        "names": names,
        "ports": given_ports(problem, looked_at),
        "macros": sorted(given_macros(problem)),
        "late": False,
        "gates": True,
        "unknown": "",
        "pair": False,
    }


def given_ports(problem: Problem, looked_at: Set[str]) -> dict[str, dict[str, str]]:
    """Module -> port -> direction, as the given targets declare those that tests look at.

    Tests find a name inside of the design as well as a port, and synthesis builds nothing of what no port shows.
    """
    given = [problem.context[path] for path in problem.targets if path in problem.context]
    found = {module: ports for text in given for module, ports in declared_ports(text).items()}
    return {module: {name: way for name, way in ports.items() if name in looked_at} for module, ports in found.items()}


async def _with_netlist(
    judged: ServiceRun, simulating: Service, plan: dict[str, object], run: Run, driven: Callable[[str], bool]
) -> ServiceRun:
    """Hardware may have either timing: a design that is right with one is right.

    Gates that take too long are not asked, words are, twice: what gates decide is 0 in one of them and 1 in the other.
    Gates that drive themselves may never come to an end, and then have not passed. Names that the netlist has lost are
    looked up in the source, which runs beside it; only where tests drive such a name nothing can be compared.
    """
    done = await run(_in_netlist_mode(simulating, plan))
    cpu = done.cpu_seconds
    if _out_of_time(done.verdict) and done.verdict.looped:
        plans = []
    elif _out_of_time(done.verdict):
        plans = [{**plan, "gates": False, "unknown": value} for value in ("zero", "one")]
    else:
        plans = [plan]
    for one in plans:
        if one is not plan:
            done = await run(_in_netlist_mode(simulating, one))
            cpu += done.cpu_seconds
        lost = lost_names(done.verdict)
        if lost and not any(map(driven, lost)):
            one = {**one, "pair": True}
            done = await run(_in_netlist_mode(simulating, one))
            cpu, lost = cpu + done.cpu_seconds, []
        if not done.verdict.passed and not lost:
            late = await run(_in_netlist_mode(simulating, {**one, "late": True}))
            cpu += late.cpu_seconds
            done = late if late.verdict.passed else done
        if not done.verdict.passed:
            break
    verdict, shown = judged.verdict, done.verdict
    if lost := [name for name in lost_names(shown) if driven(name)]:
        note = f"the netlist has no {', '.join(lost)}, which the tests look at: it was not compared with the simulation"
        verdict = replace(verdict, reasons=(*verdict.reasons, note))
    elif not shown.passed or not shown.netlists:
        found = shown.missing_netlists if shown.passed else shown.reasons
        reasons = tuple(dict.fromkeys(map(_in_words, found or ("nothing was built",))))
        verdict = replace(verdict, passed=False, score=min(verdict.score, 0.999), reasons=(*verdict.reasons, *reasons))
    return replace(judged, verdict=verdict, cpu_seconds=judged.cpu_seconds + cpu)


def _drives(problem: Problem, name: str) -> bool:
    """Whether a test may set this name, or something in it: then the source is no witness of what the netlist has."""
    return any(sets_name(text, name) for path, text in problem.harness.files.items() if path.endswith(".py"))


def sets_name(python: str, name: str) -> bool:
    """An assignment to something of that name, or a call that sets it; a comparison by `<=` is none."""
    try:
        nodes = list(ast.walk(ast.parse(python)))
    except (SyntaxError, ValueError, RecursionError):
        return name in python
    set_there: list[ast.AST] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=targets):
                set_there += targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                set_there.append(target)
            case ast.Expr(value=ast.Compare(left=left, ops=[ast.LtE(), *_])):  # cocotb 1.x: dut.name <= 1
                set_there.append(left)
            case ast.Call(func=ast.Attribute(attr="setimmediatevalue" | "set", value=target)):
                set_there.append(target)
    words = [word for target in set_there if not isinstance(target, ast.Name) for word in ast.walk(target)]
    return any(name in (getattr(word, "attr", None), getattr(word, "value", None)) for word in words)


def _in_netlist_mode(service: Service, plan: dict[str, object]) -> Service:
    return replace(service, env={**service.env, PLAN: json.dumps(plan)})


def _out_of_time(verdict: ServiceVerdict) -> bool:
    return any(reason.startswith(f"service {verdict.service}: stopped after") for reason in verdict.reasons)


def _in_words(reason: str) -> str:
    return f"what is synthesised is not what was simulated: with the netlist that Yosys builds, {reason}"


def lost_names(verdict: ServiceVerdict) -> list[str]:
    """The names whose absence is all that failed; none where anything else failed too."""
    failed = [test for test in verdict.tests if test.item and not test.passed]
    names = [_missing(test) for test in failed]
    items = {test.name for test in verdict.tests if not test.item and test.passed is False}
    if verdict.passed or not failed or None in names or not items <= {test.item for test in failed}:
        return []
    return sorted({name for name in names if name is not None})


def _missing(test: TestResult) -> str | None:
    found = _NO_SUCH_NAME.search(test.message or "")
    return found.group(1) if found else None

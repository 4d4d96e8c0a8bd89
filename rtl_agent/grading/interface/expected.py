"""What a harness needs of the design: top module, names that its tests touch, parameters. Read, never run."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from rtl_agent.grading.interface.evaluate import BudgetSpent
from rtl_agent.grading.interface.notes import Notes
from rtl_agent.grading.interface.trace import Trace
from rtl_agent.grading.interface.values import UNKNOWN, Function, Handle, Module, Seq, Value
from rtl_agent.problems.problem import Harness, Service

NOT_PYTHON = {"verilator", "yosys", "iverilog"}
SKIPPING = {"skip", "expect_fail", "expect_error"}


@dataclass(frozen=True)
class ExpectedPort:
    """A name that must exist in the module. Known to be an input where a test drives it; else a port or a signal."""

    name: str
    direction: Literal["input", "output"] | None = None
    width: int | None = None


@dataclass(frozen=True)
class ExpectedInterface:
    top: str
    ports: tuple[ExpectedPort, ...] = ()
    parameters: tuple[str, ...] = ()


def expected_interface(harness: Harness) -> tuple[ExpectedInterface, ...]:
    """One for each top module that the services simulate; empty where nothing is known."""
    found: dict[str, ExpectedInterface] = {}
    for service in harness.services:
        for top, modules, parameters in _simulations(harness, service):
            if not _is_in_harness(top, harness):
                ports = _ports(harness, service, modules, widths=not parameters)
                found[top] = _merge(found.get(top, ExpectedInterface(top)), ports, parameters)
    return tuple(found.values())


def _simulations(harness: Harness, service: Service) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(top, test modules, parameters) of each simulation that a service runs."""
    if PurePosixPath(service.argv[0]).name in NOT_PYTHON:
        return
    env_top, env_module = service.env.get("TOPLEVEL", "").strip(), service.env.get("MODULE", "").strip()
    modules: dict[str, dict[str, None]] = {}
    parameters: dict[str, dict[str, None]] = {}
    builds = _trace_runner(harness, service).builds
    unknown = all(build.top is None for build in builds)
    for build in builds:
        top = env_top if unknown else build.top or ""  # one that is not known may be any
        found = modules.setdefault(top, {})
        if build.test_module is not None:
            found.update(dict.fromkeys(name.strip() for name in build.test_module.split(",")))
        elif build.method == "test" and top == env_top:
            found.setdefault(env_module)
        parameters.setdefault(top, {}).update(dict.fromkeys(build.parameters))
    for top, found in (modules or {env_top: {env_module: None}}).items():
        if top:
            yield top, tuple(found), tuple(parameters.get(top, ()))


def _trace_runner(harness: Harness, service: Service) -> Notes:
    """Follow the pytest functions of the scripts that a service names."""
    trace = Trace(harness.files, service.env)
    try:
        for script in re.findall(r"([\w-]+)\.py\b", " ".join(service.argv)):
            module = trace.module(script)
            for name, value in list(module.names.items()) if module else []:
                if isinstance(value, Function) and name.startswith("test"):
                    _call_with_cases(trace, value)
    except (BudgetSpent, RecursionError):
        pass
    return trace.notes


def _call_with_cases(trace: Trace, function: Function) -> None:
    """Once for each row of pytest.mark.parametrize; several decorators turn their rows together."""
    columns: dict[str, Sequence[Value]] = {}
    for decorator in function.node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and ast.unparse(decorator.func).endswith("parametrize")
            and decorator.args[1:]
        ):
            heads, rows = (trace.evaluate(arg, {}, function.module) for arg in decorator.args[:2])
            names = [name.strip() for name in str(getattr(heads, "value", "")).split(",")]
            items = rows.items if isinstance(rows, Seq) and rows.items else (UNKNOWN,)
            for at, name in enumerate(names):
                columns[name] = [
                    item
                    if len(names) == 1
                    else item.items[at]
                    if isinstance(item, Seq) and at < len(item.items)
                    else UNKNOWN
                    for item in items
                ]
    for row in range(min(16, max((len(column) for column in columns.values()), default=1))):
        trace.call(function, [], {name: column[row % len(column)] for name, column in columns.items()})


def _ports(harness: Harness, service: Service, modules: Sequence[str], *, widths: bool) -> tuple[ExpectedPort, ...]:
    """Without parameters of the harness's own, an asserted width holds for the module as it was written."""
    trace = Trace(harness.files, service.env)
    try:
        for name in modules:
            module = trace.module(name.rpartition(".")[2])
            for function in _tests(module) if module else ():
                trace.call(function, [Handle()], {})
    except (BudgetSpent, RecursionError):
        pass
    notes = trace.notes
    return tuple(
        ExpectedPort(
            name=name,
            direction="input" if notes.is_input(name) else None,
            width=next(iter(notes.widths[name])) if widths and len(notes.widths[name]) == 1 else None,
        )
        for name in dict.fromkeys((*notes.required, *sorted(notes.asserted)))
        if name not in notes.guarded - notes.asserted
    )


def _tests(module: Module) -> Iterator[Function]:
    """The functions that cocotb runs; those that may fail or are skipped say nothing about the design."""
    for value in list(module.names.values()):
        if not isinstance(value, Function):
            continue
        for decorator in value.node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            options = {k.arg for k in decorator.keywords} if isinstance(decorator, ast.Call) else set()
            if ast.unparse(call) in ("cocotb.test", "test") and not options & SKIPPING:
                yield value


def _is_in_harness(top: str, harness: Harness) -> bool:
    """A test bench of the harness's own says nothing about what a model writes."""
    declares = re.compile(rf"\bmodule\s+(?:automatic\s+|static\s+)?{re.escape(top)}\b")
    return any(declares.search(text) for path, text in harness.files.items() if path.endswith((".sv", ".v")))


def _merge(old: ExpectedInterface, ports: Sequence[ExpectedPort], parameters: Sequence[str]) -> ExpectedInterface:
    known = {port.name: port for port in old.ports}
    for port in ports:
        before = known.get(port.name, port)
        agreed = port.width if before.width in (None, port.width) else None if port.width is not None else before.width
        known[port.name] = ExpectedPort(port.name, port.direction or before.direction, agreed)
    return ExpectedInterface(old.top, tuple(known.values()), tuple(dict.fromkeys((*old.parameters, *parameters))))

"""Signs in what a harness imports and calls, and in how it uses one signal in two ways."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from rtl_agent.problems.flavour.kinds import Kind, Scope, kind_of, root
from rtl_agent.problems.flavour.names import MODULES_1, MODULES_2, NAMES_1, NAMES_2

_TIMED = frozenset({"Clock", "Timer", "with_timeout", "get_sim_time", "get_sim_steps", "get_time_from_sim_steps"})
_CLOCK_2 = frozenset({"impl", "set_action", "period_high"})
_Found = tuple[str, int]


def import_signs(nodes: Sequence[ast.AST]) -> Iterator[_Found]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from ((sign, node.lineno) for sign in _module(alias.name))
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((sign, node.lineno) for sign in _module(module))
                for alias in names:
                    yield from ((sign, node.lineno) for sign in _name(module, alias.name))
            case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=attr) if root(value) == "cocotb":
                yield from ((sign, node.lineno) for sign in _name(ast.unparse(value), attr))


def _module(module: str) -> Iterator[str]:
    if module == "cocotb.runner":
        yield "runner-1"
    elif module == "cocotb_tools.runner":
        yield "runner-2"
    elif module in MODULES_1:
        yield "only-1-names"
    elif module in MODULES_2:
        yield "only-2-names"


def _name(module: str, name: str) -> Iterator[str]:
    if f"{module}.{name}" in ("cocotb.runner", "cocotb_tools.runner"):
        yield from _module(f"{module}.{name}")
    elif name in NAMES_1.get(module, ()) or f"{module}.{name}" in MODULES_1 - {"cocotb.log"}:
        yield "only-1-names"  # cocotb.log is a logger in both
    elif name in NAMES_2.get(module, ()) or f"{module}.{name}" in MODULES_2:
        yield "only-2-names"


def call_signs(node: ast.AST, scope: Scope) -> Iterator[str]:
    if not isinstance(node, ast.Call):
        return
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    if name in _TIMED and "unit" in keywords:
        yield "unit"
    elif name in _TIMED and "units" in keywords:
        yield "units"
    if name == "Clock" and _CLOCK_2 & set(keywords):
        yield "clock-options"
    if name == "Timer" and node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0:
        yield "timer-zero"
    if name == "start" and "cycles" in keywords:
        yield "clock-cycles"
    if name == "abs" and node.args and kind_of(node.args[0], scope) is Kind.VALUE:
        yield "arithmetic"
    match keywords.get("defines"):
        case ast.Dict(values=values):
            defined = [value.value for value in values if isinstance(value, ast.Constant)]
            if None in defined:
                yield "define-without-value"
            if any(isinstance(value, str) for value in defined):
                yield "define-with-text"


def packed_signs(nodes: Sequence[ast.AST], handles: Mapping[int, str]) -> Iterator[_Found]:
    """`dut.x[0]` where `dut.x` is a number elsewhere, and so a vector: 2.x gives no handle of a bit."""
    numbers = {handles.get(id(handle), "") for node in nodes for handle in _used_as_number(node)}
    for node in nodes:
        match node:
            case ast.Subscript(value=value, slice=index) if not _is_text(index):
                if handles.get(id(value)) and handles[id(value)] in numbers:
                    yield "bit-handle", node.lineno


def _used_as_number(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[ast.Attribute(value=handle, attr="value")]):
            yield handle
        case ast.Call(func=ast.Name(id="int"), args=[ast.Attribute() as handle]):
            yield handle
        case ast.Attribute(value=ast.Attribute(value=handle, attr="value"), attr="integer" | "to_unsigned" | "binstr"):
            yield handle
        case ast.Compare(left=ast.Attribute(value=handle, attr="value"), comparators=[ast.Constant(value=int())]):
            yield handle
        case ast.Assign(targets=[ast.Attribute(value=handle, attr="value")], value=ast.Constant(value=int())):
            yield handle


def _is_text(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and isinstance(index.value, str)

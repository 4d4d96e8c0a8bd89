"""Signs in what a harness does to values and handles, and in what it imports and calls."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from rtl_agent.problems.cocotb_version.expressions import VALUES, Direction, Kind, Scope, direction, kind_of, root
from rtl_agent.problems.cocotb_version.table import (
    CLOCK_1,
    HANDLE_1,
    LOGIC_ARRAY_2,
    LOGIC_TYPES,
    MODULES_1,
    MODULES_2,
    NAMES_1,
    NAMES_2,
    STARRED_1,
    TASK_1,
    TASK_2,
    VALUE_1,
    VALUE_2,
    VALUE_OLD,
)

_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod | ast.Pow | ast.LShift | ast.RShift
_BITS = ast.BitAnd | ast.BitOr | ast.BitXor
_SEARCHES = frozenset({"count", "startswith", "endswith", "replace", "find", "rfind", "index", "strip", "split"})
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "setLevel"})
_TASK_MAKERS = frozenset({"start_soon", "create_task", "fork"})
_NO_TEXT = frozenset({"0", "1"})


def operation_signs(node: ast.AST, scope: Scope) -> Iterator[str]:
    match node:
        case ast.Subscript(value=value, slice=ast.Slice() as bounds) if kind_of(value, scope) in VALUES:
            yield from _slice(bounds, scope)
        case ast.Subscript(value=value, slice=index) if kind_of(value, scope) in VALUES:
            yield "negative-index" if _negative(index) else "index"
        case ast.BinOp(left=left, op=op, right=right):
            yield from _operator(op, kind_of(left, scope), kind_of(right, scope), left)
            if any(_is_inverted(side, scope) for side in (left, right)):
                yield "inverted-number"
        case ast.UnaryOp(op=ast.USub(), operand=operand) if kind_of(operand, scope) is Kind.VALUE:
            yield "arithmetic"
        case ast.UnaryOp(op=ast.Invert(), operand=operand) if kind_of(operand, scope) is Kind.VALUE:
            yield "inverted"
        case ast.Compare(left=left, ops=ops, comparators=others):
            for compared, one, other in zip(ops, [left, *others], others, strict=False):
                yield from _comparison(compared, one, other, scope)
                if (
                    any(_is_inverted(side, scope) for side in (one, other))
                    and not _is_text(one)
                    and not _is_text(other)
                ):
                    yield "inverted-number"
        case ast.Expr(value=ast.Compare(left=left, ops=[ast.LtE()])) if kind_of(left, scope) is Kind.HANDLE:
            yield "handle-assigned"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr="start"))):
            if _made_by(value, scope) == "Clock":
                yield "clock-started"
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assignment(target, value, scope)
        case ast.Attribute(value=ast.Attribute(value=value, attr="range"), attr="left" | "right" | "direction"):
            if kind_of(value, scope) is Kind.HANDLE:
                yield "only-2-handle-attributes"
        case ast.Attribute(value=ast.Attribute(value=value, attr="log"), attr=attr) if attr in _LOGS:
            if kind_of(value, scope) is Kind.HANDLE:
                yield "handle-attributes"
        case ast.Attribute(value=value, attr=attr):
            yield from _attribute(kind_of(value, scope), attr)
            yield from _attribute_of_a_task_or_clock(_made_by(value, scope), attr)
        case ast.Await(value=ast.Attribute(value=value, attr="rising_edge" | "falling_edge" | "value_change")):
            if kind_of(value, scope) is Kind.HANDLE:
                yield "only-2-handle-attributes"


def _slice(bounds: ast.Slice, scope: Scope) -> Iterator[str]:
    if bounds.step is not None:
        yield "step-slice"
    elif bounds.lower is None or bounds.upper is None:
        negative = [bound for bound in (bounds.lower, bounds.upper) if bound is not None and _negative(bound)]
        if not negative:  # no generation takes one from a vector
            yield "open-slice"
    else:
        way = direction(bounds.lower, bounds.upper, scope.exprs)
        if way is Direction.DOWN:
            yield "descending-slice"
        elif way is Direction.UP:
            yield "ascending-slice"


def _negative(index: ast.expr) -> bool:
    match index:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return value > 0
    return False


def _operator(op: ast.operator, left: Kind, right: Kind, left_node: ast.expr) -> Iterator[str]:
    if Kind.VALUE not in (left, right):
        return
    if isinstance(op, _ARITHMETIC):
        if isinstance(op, ast.Mod) and left is not Kind.VALUE and not _is_number(left_node):
            return  # "%d" % value formats
        if isinstance(op, ast.Add | ast.Mult) and left is not Kind.VALUE and not _is_number(left_node):
            return  # a text or a list could be on the left
        yield "arithmetic"
    elif isinstance(op, _BITS):
        if Kind.PLAIN in (left, right):
            yield "bits-with-int"
        elif left is right:
            yield "bits"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _comparison(op: ast.cmpop, one: ast.expr, other: ast.expr, scope: Scope) -> Iterator[str]:
    kinds = kind_of(one, scope), kind_of(other, scope)
    if isinstance(op, ast.Eq | ast.NotEq):
        if Kind.HANDLE in kinds and Kind.PLAIN in kinds and not _is_nothing(one) and not _is_nothing(other):
            yield "handle-compared"
        for text, kind in ((one, kinds[1]), (other, kinds[0])):
            if kind is Kind.TEXT or kind in VALUES:
                yield from _letter_case(text, ignores=kind in VALUES)
    elif isinstance(op, ast.In | ast.NotIn) and kinds[1] is Kind.TEXT:
        yield from _letter_case(one, ignores=False)
    elif isinstance(op, ast.In | ast.NotIn) and kinds[0] is Kind.TEXT:  # a character of it
        yield from _letter_case(other, ignores=False)
    elif isinstance(op, ast.Lt | ast.Gt | ast.GtE | ast.LtE) and Kind.VALUE in kinds:
        yield "order"


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _letter_case(node: ast.expr, *, ignores: bool) -> Iterator[str]:
    """`'x'` of 1.9 or `'X'` of 2.x, alone or in a set; a value of 2.x (`ignores`) equals both."""
    parts = node.elts if isinstance(node, ast.Set | ast.Tuple | ast.List) else [node]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    letters = set("".join(texts)) - _NO_TEXT
    if len(texts) == len(parts) and letters and not ignores and letters <= set("xz"):
        yield "lower-case-x"
    elif len(texts) == len(parts) and letters and letters <= set("XZ"):
        yield "upper-case-x"


def _assignment(target: ast.expr, value: ast.expr, scope: Scope) -> Iterator[str]:
    match target:
        case ast.Attribute(value=base, attr="value") if kind_of(base, scope) is Kind.HANDLE:
            text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            if text or isinstance(value, ast.JoinedStr):
                yield "written-text"
            elif isinstance(value, ast.Tuple):
                yield "written-tuple"
        case ast.Attribute(value=base, attr=attr) if kind_of(base, scope) is Kind.HANDLE:
            if not attr.startswith("_") and isinstance(base, ast.Name):
                yield "handle-assigned"
        case ast.Subscript(value=base) if kind_of(base, scope) is Kind.HANDLE:
            yield "handle-assigned"


def _made_by(node: ast.expr, scope: Scope) -> str:
    """The class or function that made an object, where it is called in place or its name is assigned once."""
    made = scope.exprs.get(node.id) if isinstance(node, ast.Name) else node
    match made:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def _attribute_of_a_task_or_clock(maker: str, attr: str) -> Iterator[str]:
    if (maker in _TASK_MAKERS and attr in TASK_1) or (maker == "Clock" and attr in CLOCK_1):
        yield "only-1-task-attributes"
    elif maker in _TASK_MAKERS and attr in TASK_2:
        yield "only-2-task-attributes"
    elif maker == "Clock" and attr == "stop":
        yield "clock-started"


def _is_inverted(node: ast.expr, scope: Scope) -> bool:
    match node:
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return kind_of(operand, scope) is Kind.VALUE
    return False


def _attribute(base: Kind, attr: str) -> Iterator[str]:
    if base is Kind.VALUE and attr == "to_bytes":
        yield "only-2-conversions"
    if base in VALUES:
        if attr in VALUE_2:
            yield "only-2-conversions"
        elif attr in VALUE_1 and (base is Kind.VALUE or attr == "n_bits"):
            yield "only-1-attributes"
    elif base is Kind.HANDLE and attr in HANDLE_1:
        yield "handle-attributes"
    if attr in (VALUE_2 - {"resolve"}) | LOGIC_ARRAY_2 and base not in VALUES:
        yield "only-2-conversions"
    if attr in VALUE_OLD:
        yield "old-attributes"
    elif attr == "n_bits" and base not in VALUES:
        yield "only-1-attributes"


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
                    if alias.name == "*":
                        yield from _starred(module, nodes)
            case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=attr) if root(value) == "cocotb":
                yield from ((sign, node.lineno) for sign in _name(ast.unparse(value), attr))


def _starred(module: str, nodes: Sequence[ast.AST]) -> Iterator[_Found]:
    """`from cocotb.triggers import *`: the names that are used and that only one generation hands out so."""
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    imported = (node.names for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    bound |= {alias.asname or alias.name for names in imported for alias in names}
    only_1 = STARRED_1.get(module, frozenset()) | NAMES_1.get(module, frozenset())
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound:
            if node.id in only_1:
                yield "only-1-names", node.lineno
            elif node.id in NAMES_2.get(module, ()):
                yield "only-2-names", node.lineno


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
    elif (module, name) in LOGIC_TYPES:
        yield "logic-types"
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
    match node.func:
        case ast.Attribute(value=value, attr="set" | "get") if kind_of(value, scope) is Kind.HANDLE:
            yield "only-2-handle-attributes"
    if name == "start" and "cycles" in keywords:
        yield "clock-cycles"
    match node.func, node.args:
        case (ast.Attribute(value=text, attr=method), [first, *_]) if method in _SEARCHES:
            if kind_of(text, scope) is Kind.TEXT:
                yield from _letter_case(first, ignores=False)
    if name in ("abs", "divmod") and node.args and kind_of(node.args[0], scope) is Kind.VALUE:
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

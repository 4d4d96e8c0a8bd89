"""Signs in what is done to values and handles: slices, indices, operators, comparisons, assignments, attributes."""

import ast
from collections.abc import Iterator

from rtl_agent.problems.flavour.bounds import Direction, direction
from rtl_agent.problems.flavour.kinds import VALUES, Kind, Scope, kind_of
from rtl_agent.problems.flavour.names import HANDLE_1, VALUE_1, VALUE_2, VALUE_OLD

_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod | ast.Pow | ast.LShift | ast.RShift
_BITS = ast.BitAnd | ast.BitOr | ast.BitXor
_NO_TEXT = frozenset({"0", "1"})


def operation_signs(node: ast.AST, scope: Scope) -> Iterator[str]:
    match node:
        case ast.Subscript(value=value, slice=ast.Slice() as bounds) if kind_of(value, scope) in VALUES:
            yield from _slice(bounds, scope)
        case ast.Subscript(value=value, slice=index) if kind_of(value, scope) in VALUES:
            yield "negative-index" if _negative(index) else "index"
        case ast.BinOp(left=left, op=op, right=right):
            yield from _operator(op, kind_of(left, scope), kind_of(right, scope), left)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if kind_of(operand, scope) is Kind.VALUE:
            yield "arithmetic"
        case ast.UnaryOp(op=ast.Invert(), operand=operand) if kind_of(operand, scope) is Kind.VALUE:
            yield "inverted"
        case ast.Compare(left=left, ops=ops, comparators=others):
            for compared, one, other in zip(ops, [left, *others], others, strict=False):
                yield from _comparison(compared, one, other, scope)
        case ast.Expr(value=ast.Compare(left=left, ops=[ast.LtE()])) if kind_of(left, scope) is Kind.HANDLE:
            yield "handle-assigned"
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assignment(target, value, scope)
        case ast.Attribute(value=value, attr=attr):
            yield from _attribute(kind_of(value, scope), attr)


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
    elif isinstance(op, ast.Lt | ast.Gt | ast.GtE | ast.LtE) and Kind.VALUE in kinds:
        yield "order"


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _letter_case(node: ast.expr, *, ignores: bool) -> Iterator[str]:
    """`'x'` of 1.9 or `'X'` of 2.x; a value of 2.x (`ignores`) equals both."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and set(node.value) - _NO_TEXT <= set("xXzZ"):
        letters = set(node.value) - _NO_TEXT
        if letters and letters <= set("xz") and not ignores:
            yield "lower-case-x"
        elif letters and letters <= set("XZ"):
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


def _attribute(base: Kind, attr: str) -> Iterator[str]:
    if base in VALUES:
        if attr in VALUE_2:
            yield "only-2-conversions"
        elif attr in VALUE_1 and (base is Kind.VALUE or attr == "n_bits"):
            yield "only-1-attributes"
    elif base is Kind.HANDLE and attr in HANDLE_1:
        yield "handle-attributes"
    if attr in VALUE_2 - {"resolve"} and base not in VALUES:
        yield "only-2-conversions"
    if attr in VALUE_OLD:
        yield "old-attributes"
    elif attr == "n_bits" and base not in VALUES:
        yield "only-1-attributes"

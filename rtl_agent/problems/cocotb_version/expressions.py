"""What the expressions of a harness are: handles, values read from them or Python's own, and which way a slice runs."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from enum import Enum


class Kind(Enum):
    HANDLE = "handle"  # dut, dut.x, getattr(dut, name)
    VALUE = "value"  # dut.x.value
    MAYBE = "maybe"  # x.value of an x that is not known: a handle, or a member of an Enum
    TEXT = "text"  # str(dut.x.value): the bits as they are printed
    PLAIN = "plain"  # int(dut.x.value), "0101", [1, 2]
    UNKNOWN = "unknown"


VALUES = frozenset({Kind.VALUE, Kind.MAYBE})
_CONVERSIONS = frozenset(
    {"int", "len", "bool", "hex", "bin", "float", "range", "sum", "ord", "list", "tuple", "sorted"}
)
_COPIES = frozenset({"copy", "deepcopy"})
_CASES = frozenset({"lower", "upper", "casefold"})
_NO_SIGNAL = frozenset(
    {"_log", "_name", "_path", "_type", "_def_name", "_def_file", "_fullname", "_len", "_range", "name"}
)


class Scope:
    """The kinds of the names that a function sees, and the expressions of those that it assigns once."""

    def __init__(self, outer: "Scope | None" = None) -> None:
        self.kinds: dict[str, Kind] = dict(outer.kinds) if outer else {}
        self.exprs: dict[str, ast.expr] = dict(outer.exprs) if outer else {}
        self.classes: frozenset[str] = outer.classes if outer else frozenset()
        self.attributes: dict[str, Kind] = outer.attributes if outer else {}  # of self, whatever the class
        self.returns: dict[str, Kind] = outer.returns if outer else {}  # of functions, by name

    def join(self, *branches: "Scope") -> None:
        """After an `if`: what all branches agree on."""
        names = {name for branch in branches for name in branch.kinds}
        self.kinds = {name: agreed(branch.kinds.get(name, Kind.UNKNOWN) for branch in branches) for name in names}


def agreed(kinds: Iterator[Kind]) -> Kind:
    found = set(kinds)
    return found.pop() if len(found) == 1 else Kind.UNKNOWN


def kind_of(node: ast.expr, scope: Scope) -> Kind:
    """By its form alone; what is not recognised is unknown, and counts for nothing."""
    match node:
        case ast.Name(id=name):
            return scope.kinds.get(name, Kind.UNKNOWN)
        case ast.Attribute():
            return _attribute(node, scope)
        case ast.Subscript(value=value):
            kind = kind_of(value, scope)
            return Kind.UNKNOWN if kind is Kind.PLAIN else kind
        case ast.Call():
            return _call(node, scope)
        case ast.Await(value=value) | ast.NamedExpr(value=value) | ast.Starred(value=value):
            return kind_of(value, scope)
        case ast.IfExp(body=body, orelse=orelse):
            return agreed(kind_of(part, scope) for part in (body, orelse))
        case ast.BoolOp(values=values):
            return agreed(kind_of(part, scope) for part in values)
        case ast.UnaryOp(op=ast.Invert()) | ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()):
            return Kind.UNKNOWN
        case ast.BinOp(left=left, right=right):
            sides = (kind_of(left, scope), kind_of(right, scope))
            return Kind.TEXT if Kind.TEXT in sides else Kind.PLAIN
        case ast.JoinedStr(values=[ast.FormattedValue(value=value, format_spec=None)]):
            return Kind.TEXT if kind_of(value, scope) in (Kind.VALUE, Kind.TEXT) else Kind.PLAIN
        case ast.JoinedStr() | ast.Lambda():
            return Kind.PLAIN
        case ast.Constant() | ast.Compare() | ast.UnaryOp() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set():
            return Kind.PLAIN
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return Kind.PLAIN
        case _:
            return Kind.UNKNOWN


def _attribute(node: ast.Attribute, scope: Scope) -> Kind:
    match node:
        case ast.Attribute(value=ast.Name(id="cocotb"), attr="top") | ast.Attribute(value=ast.Name(), attr="dut"):
            return Kind.HANDLE
        case ast.Attribute(value=ast.Attribute(attr="range"), attr="left" | "right" | "direction"):
            return Kind.PLAIN
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            return scope.attributes.get(attr, Kind.UNKNOWN)
        case ast.Attribute(value=value, attr=attr):
            base = kind_of(value, scope)
            if base is Kind.HANDLE:
                return Kind.VALUE if attr == "value" else Kind.PLAIN if attr in _NO_SIGNAL else Kind.HANDLE
            if base in VALUES:
                return Kind.TEXT if attr == "binstr" else Kind.PLAIN
            if base is Kind.UNKNOWN and attr == "value" and root(value) not in scope.classes:
                return Kind.MAYBE
    return Kind.UNKNOWN


def _call(node: ast.Call, scope: Scope) -> Kind:
    first = kind_of(node.args[0], scope) if node.args else Kind.UNKNOWN
    match node.func:
        case ast.Name(id="getattr") if first is Kind.HANDLE:
            return Kind.VALUE if _is_text(node.args[1:2], "value") else Kind.HANDLE
        case ast.Name(id="str" | "format") if first in VALUES or first is Kind.TEXT:
            return Kind.TEXT
        case ast.Name(id="set" | "list" | "reversed" | "sorted") if first is Kind.TEXT:
            return Kind.TEXT
        case ast.Name(id=name) if name in _CONVERSIONS or name in ("str", "repr", "format"):
            return Kind.PLAIN
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _COPIES:
            return first
        case ast.Name(id=name) if name in scope.returns:
            return scope.returns[name]
        case ast.Attribute(value=value, attr=attr):
            base = kind_of(value, scope)
            if base is Kind.HANDLE and attr == "_id":
                return Kind.HANDLE
            if base is Kind.TEXT:
                return Kind.PLAIN if attr in _CASES else Kind.TEXT
            if base in VALUES:
                return Kind.PLAIN
    return Kind.UNKNOWN


def root(node: ast.expr) -> str:
    """The name that a chain of attributes starts with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_text(args: list[ast.expr], text: str) -> bool:
    return any(isinstance(arg, ast.Constant) and arg.value == text for arg in args)


_Polynomial = dict[tuple[str, ...], int]  # product of names -> factor; the empty product is the constant
_DEPTH = 4  # of names that stand for other names
_HIGH, _LOW = frozenset({"msb", "hi", "high", "upper"}), frozenset({"lsb", "lo", "low", "lower"})
_TRIALS = (16, 4, 32, 8)
_LARGE = 1 << 64
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


class Direction(Enum):
    DOWN = "down"
    UP = "up"
    NEITHER = "neither"  # one bit, or not known


def direction(start: ast.expr, stop: ast.expr, names: Mapping[str, ast.expr]) -> Direction:
    """The direction of `[start:stop]`, where `names` were assigned once, and what has no value is a width or a count.

    A width or a count is at least 1: `[W-1:0]` runs down, or is one bit.
    """
    if by_name := _by_name(start, stop):
        return by_name
    high, low = _polynomial(start, names, _DEPTH), _polynomial(stop, names, _DEPTH)
    if high is None or low is None:
        return _by_trial(start, stop, names)
    if any(set(bound) == {()} and bound[()] < 0 for bound in (high, low)):
        return Direction.NEITHER  # counted from the end: no generation takes it
    if _not_below(high, low):
        return Direction.DOWN
    return Direction.UP if _not_below(low, high) else Direction.NEITHER


def _not_below(high: _Polynomial, low: _Polynomial) -> bool:
    """Above it, or at least never below it; `[W-2:0]` is taken for what it looks like."""
    difference = _sum(high, low, -1)
    factors = [factor for product, factor in difference.items() if product]
    least = difference.get((), 0) + sum(factors)
    return bool(difference) and all(factor > 0 for factor in factors) and (least >= 0 or (not low and bool(factors)))


def _by_name(start: ast.expr, stop: ast.expr) -> Direction | None:
    """`[msb:lsb]`, whatever values they have."""
    match start, stop:
        case (ast.Name(id=first), ast.Name(id=last)):
            one, other = set(first.lower().split("_")), set(last.lower().split("_"))
            if one & _HIGH and other & _LOW:
                return Direction.DOWN
            if one & _LOW and other & _HIGH:
                return Direction.UP
    return None


def _by_trial(start: ast.expr, stop: ast.expr, names: Mapping[str, ast.expr]) -> Direction:
    """With divisions, powers and shifts (`[W-1:W//2]`): the direction that it has for all of a few values."""
    found = set()
    for turn in range(len(_TRIALS)):
        trial = _Trial(names, turn)
        high, low = trial.value(start, _DEPTH), trial.value(stop, _DEPTH)
        if high is None or low is None or min(high, low) < 0 or high == low:
            return Direction.NEITHER
        found.add(Direction.DOWN if high > low else Direction.UP)
    return found.pop() if len(found) == 1 else Direction.NEITHER


class _Trial:
    """One choice of values: each name that has none gets its own, another one at each turn."""

    def __init__(self, names: Mapping[str, ast.expr], turn: int) -> None:
        self._names, self._turn = names, turn
        self._chosen: dict[str, int] = {}

    def value(self, node: ast.expr, depth: int) -> int | None:
        match node:
            case ast.Constant(value=int(value)):
                return int(value)
            case ast.Name(id=name) if name in self._names and depth:
                known = self.value(self._names[name], depth - 1)
                return self._choose(name) if known is None else known
            case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
                return self._choose(ast.unparse(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.value(operand, depth)
                return None if inner is None else -inner
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                one, other = self.value(left, depth), self.value(right, depth)
                if one is None or other is None or not 0 <= other <= _LARGE or abs(one) > _LARGE:
                    return None
                if other > 64 and isinstance(op, ast.Pow | ast.LShift):
                    return None
                if other == 0 and isinstance(op, ast.FloorDiv | ast.Mod):
                    return None
                return int(_OPERATORS[type(op)](one, other))
            case _:
                return None

    def _choose(self, name: str) -> int:
        return self._chosen.setdefault(name, _TRIALS[(self._turn + len(self._chosen)) % len(_TRIALS)])


def _polynomial(node: ast.expr, names: Mapping[str, ast.expr], depth: int) -> _Polynomial | None:
    match node:
        case ast.Constant(value=int(value)):
            return {(): int(value)} if value else {}
        case ast.Name(id=name) if name in names and depth:
            known = _polynomial(names[name], names, depth - 1)
            return {(name,): 1} if known is None else known
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
            return {(ast.unparse(node),): 1}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _polynomial(operand, names, depth)
            return None if inner is None else _sum({}, inner, -1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
            one, other = _polynomial(left, names, depth), _polynomial(right, names, depth)
            if one is None or other is None:
                return None
            if isinstance(op, ast.Mult):
                return _product(one, other)
            return _sum(one, other, 1 if isinstance(op, ast.Add) else -1)
        case _:
            return None


def _sum(one: _Polynomial, other: _Polynomial, factor: int) -> _Polynomial:
    found = {product: one.get(product, 0) + factor * other.get(product, 0) for product in {**one, **other}}
    return {product: value for product, value in found.items() if value}


def _product(one: _Polynomial, other: _Polynomial) -> _Polynomial | None:
    if len(one) * len(other) > 64:
        return None
    found: _Polynomial = {}
    for left, left_factor in one.items():
        for right, right_factor in other.items():
            key = tuple(sorted((*left, *right)))
            found[key] = found.get(key, 0) + left_factor * right_factor
    return {product: value for product, value in found.items() if value}

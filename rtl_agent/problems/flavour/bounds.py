"""Which way a slice runs: `[7:4]`, `[W-1:0]`, `[i*8+7 : i*8]`, as far as its text tells."""

import ast
import operator
from collections.abc import Callable, Mapping
from enum import Enum

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

"""What an expression of a harness is: a handle of the simulator, a value read from one, or Python's own."""

import ast
from collections.abc import Iterator
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

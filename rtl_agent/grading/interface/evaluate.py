"""Expressions of a harness, evaluated without running them: which names of the design does each one touch?"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from rtl_agent.grading.interface.notes import Notes
from rtl_agent.grading.interface.values import (
    UNKNOWN,
    Class,
    Const,
    Function,
    Handle,
    Instance,
    Module,
    Record,
    Seq,
    Value,
    ValueOf,
)

Names = dict[str, Value]
MAX_ITEMS = 64  # of a range or list that is walked item by item
MAX_EXPRESSIONS = 100_000  # about 1 s; the largest CVDP harness needs 20,230. What was seen by then is kept
# Attributes of a handle that are cocotb's own. Names with an underscore in front are cocotb's own too.
OF_COCOTB = {"value", "get_definition_name", "get_definition_file", "drivers", "loads", "is_const"}
OF_SIGNALS = OF_COCOTB | {
    "integer", "signed_integer", "binstr", "setimmediatevalue", "set", "n_bits", "range", "get", "rising_edge",
    "falling_edge", "value_change", "left", "right", "direction", "type",
}  # fmt: skip


class BudgetSpent(Exception):
    """The harness is too large to follow to its end."""


class Evaluator(ABC):
    """Evaluates expressions; statements are the subclass's."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.notes = Notes()
        self.spent = 0
        self.spells_names = False  # numbers are walked through one by one only if names are made of them

    def evaluate(self, node: ast.expr | None, names: Names, module: Module) -> Value:
        self.spent += 1
        if self.spent > MAX_EXPRESSIONS:
            raise BudgetSpent
        match node:
            case None:
                return UNKNOWN
            case ast.Constant(value=str() | int() | float() | None as value):
                return Const(value)
            case ast.Name(id=name):
                return names.get(name, module.names.get(name, UNKNOWN))
            case ast.Attribute(value=inner, attr=name):
                return self.attribute(self.evaluate(inner, names, module), name)
            case ast.Call():
                return self.evaluate_call(node, names, module)
            case ast.Await(value=inner) | ast.Starred(value=inner):
                return self.evaluate(inner, names, module)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                values = tuple(self.evaluate(item, names, module) for item in items)
                return UNKNOWN if any(isinstance(item, ast.Starred) for item in items) else Seq(values)
            case ast.Dict(keys=keys, values=items):
                found = [self.evaluate(key, names, module) for key in keys]
                pairs = list(zip(found, (self.evaluate(item, names, module) for item in items), strict=True))
                return Record({k.value: v for k, v in pairs if isinstance(k, Const) and isinstance(k.value, str)})
            case ast.JoinedStr(values=parts):
                texts = [
                    self.evaluate(p.value if isinstance(p, ast.FormattedValue) else p, names, module) for p in parts
                ]
                for text in texts:
                    self.read(text)
                plain = all(not isinstance(p, ast.FormattedValue) or p.format_spec is None for p in parts)
                known = plain and all(isinstance(text, Const) for text in texts)
                return Const("".join(str(t.value) for t in texts if isinstance(t, Const))) if known else UNKNOWN
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="os"), attr="environ"), slice=index):
                key = self.evaluate(index, names, module)
                set_to = self.env.get(key.value) if isinstance(key, Const) and isinstance(key.value, str) else None
                return UNKNOWN if set_to is None else Const(set_to)
            case ast.Subscript(value=inner, slice=index):
                return self.subscript(self.evaluate(inner, names, module), self.evaluate(index, names, module))
            case ast.BoolOp(values=operands):
                return self.evaluate_bool(operands, names, module)
            case ast.Compare():
                return self.evaluate_compare(node, names, module)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                negated = self.evaluate(operand, names, module)
                return Const(not negated.value) if isinstance(negated, Const) else UNKNOWN
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self.evaluate(left, names, module), self.evaluate(right, names, module)
                self.read(a)
                self.read(b)
                if isinstance(a, Const) and isinstance(b, Const) and isinstance(op, ast.Add):
                    texts_only = isinstance(a.value, str) and isinstance(b.value, str)
                    return Const(f"{a.value}{b.value}") if texts_only else UNKNOWN
                return UNKNOWN
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                names[name] = self.evaluate(inner, names, module)
                return names[name]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.evaluate_choice(test, body, orelse, names, module)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.evaluate_comprehension(node, names, module)
            case ast.Lambda():
                return UNKNOWN
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child, names, module)
                return UNKNOWN

    def attribute(self, value: Value, name: str) -> Value:
        match value:
            case Handle(path=()):
                if name.startswith("_") or name in OF_COCOTB:
                    return UNKNOWN
                self.notes.touch(name)
                return Handle((name,))
            case Handle(path=path):
                if name == "value":
                    self.read(value)
                    return ValueOf(value)
                return UNKNOWN if name.startswith("_") or name in OF_SIGNALS else Handle((*path, name))
            case Instance(of=cls, attributes=attributes):
                if name in attributes:
                    return attributes[name]
                found = cls.find(name)
                return (
                    Function(found.node, found.module, found.closure, value)
                    if isinstance(found, Function)
                    else found or UNKNOWN
                )
            case Class():
                return value.find(name) or UNKNOWN
            case Module(name="cocotb") if name == "top":
                return Handle()
            case Module(names=names):
                return names.get(name, UNKNOWN)
        return UNKNOWN

    def named(self, value: Value, name: Value) -> Value:
        """getattr, `_id` and dut["name"]."""
        if isinstance(value, Handle) and isinstance(name, Const) and isinstance(name.value, str):
            first, *rest = name.value.split(".")
            return self.attribute(value, first) if first and not rest else UNKNOWN
        if isinstance(name, Const) and isinstance(name.value, str):
            return self.attribute(value, name.value)
        return UNKNOWN

    def subscript(self, value: Value, index: Value) -> Value:
        match value, index:
            case Handle(path=()), _:
                return self.named(value, index)
            case ((Handle() | ValueOf()), _):
                return value
            case Seq(items=items), Const(value=int() as at) if -len(items) <= at < len(items):
                return items[at]
            case Record(entries=entries), Const(value=str() as key):
                return entries.get(key, UNKNOWN)
        return UNKNOWN

    def read(self, value: Value) -> None:
        if isinstance(value, ValueOf):
            value = value.handle
        if isinstance(value, Handle):
            self.notes.read_by(value)

    def evaluate_bool(self, operands: Sequence[ast.expr], names: Names, module: Module) -> Value:
        """Later operands run only if the earlier ones let them."""
        guards = 0
        for operand in operands:
            self.read(self.evaluate(operand, names, module))
            if self.is_guard(operand, names, module):
                self.notes.optional_depth += 1
                guards += 1
        self.notes.optional_depth -= guards
        return UNKNOWN

    def evaluate_compare(self, node: ast.Compare, names: Names, module: Module) -> Value:
        left, *others = [self.evaluate(item, names, module) for item in (node.left, *node.comparators)]
        for value in (left, *others):
            self.read(value)
        if len(others) != 1:
            return UNKNOWN
        match left, node.ops[0], others[0]:
            case Const(value=a), ast.Eq(), Const(value=b):
                return Const(a == b)
            case Const(value=a), ast.NotEq(), Const(value=b):
                return Const(a != b)
            case Const(value=str() as name), ast.In() | ast.NotIn(), Handle(path=()):
                self.notes.guarded.add(name)
        return UNKNOWN

    def evaluate_choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, names: Names, module: Module) -> Value:
        decided = self.evaluate(test, names, module)
        if isinstance(decided, Const):
            return self.evaluate(body if decided.value else orelse, names, module)
        guard = self.is_guard(test, names, module)
        self.notes.optional_depth += guard
        values = [self.evaluate(part, names, module) for part in (body, orelse)]
        self.notes.optional_depth -= guard
        return values[0] if key_equal(*values) else UNKNOWN

    def evaluate_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, names: Names, module: Module
    ) -> Value:
        inner, first = dict(names), node.generators[0]
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        results = []
        source = self.evaluate(first.iter, names, module)
        items = self.items_of(source)
        for item in items:
            self.bind(first.target, item, inner)
            for generator in node.generators[1:]:
                self.evaluate(generator.iter, inner, module)
                self.bind(generator.target, UNKNOWN, inner)
            for generator in node.generators:
                for condition in generator.ifs:
                    self.evaluate(condition, inner, module)
            results.append([self.evaluate(part, inner, module) for part in parts][-1])
        whole = isinstance(source, Seq) and len(items) == len(source.items)
        simple = whole and len(node.generators) == 1 and not first.ifs and not isinstance(node, ast.DictComp)
        return Seq(tuple(results)) if simple else UNKNOWN

    @abstractmethod
    def evaluate_call(self, node: ast.Call, names: Names, module: Module) -> Value: ...

    def items_of(self, value: Value) -> Sequence[Value]:
        """What a loop over the value walks through: one unknown item where that is not known."""
        if isinstance(value, Record):
            return [Const(key) for key in value.entries]
        if isinstance(value, Seq) and len(value.items) <= MAX_ITEMS:
            numbers = all(isinstance(item, Const) and not isinstance(item.value, str) for item in value.items)
            return value.items if self.spells_names or not numbers else [UNKNOWN]
        return [UNKNOWN]

    def bind(self, target: ast.expr, value: Value, names: Names) -> None:
        """Assign to names; what else can be assigned to is the subclass's."""
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            fits = isinstance(value, Seq) and len(value.items) == len(target.elts)
            for at, part in enumerate(target.elts):
                self.bind(part, value.items[at] if fits and isinstance(value, Seq) else UNKNOWN, names)

    def is_guard(self, test: ast.expr, names: Names, module: Module) -> bool:
        """Whether a condition asks what the design has."""
        for node in ast.walk(test):
            if isinstance(node, ast.Name) and node.id in ("hasattr", "dir"):
                return True
            if isinstance(node, ast.Attribute) and node.attr in ("_sub_handles", "_discover_all", "_has"):
                return True
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                right = node.comparators[0]
                if isinstance(right, ast.Name) and names.get(right.id) == Handle():
                    return True
        return False


def key_equal(a: Value, b: Value) -> bool:
    return a is b or (type(a) is type(b) and a == b)

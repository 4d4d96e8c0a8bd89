"""Calls in a harness: its own functions and classes are followed, a few of Python and cocotb are understood."""

import ast
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import islice

from rtl_agent.grading.interface.evaluate import MAX_ITEMS, Evaluator, Names
from rtl_agent.grading.interface.notes import Build
from rtl_agent.grading.interface.values import (
    UNKNOWN,
    Class,
    Const,
    Function,
    Handle,
    Instance,
    LengthOf,
    Module,
    Record,
    Seq,
    Value,
    ValueOf,
)

DRIVING_METHODS = {"setimmediatevalue", "set"}
MENDING = {"append", "extend", "insert", "update", "pop", "remove", "clear", "add"}


class Caller(Evaluator):
    """Evaluates calls; the body of a function is the subclass's."""

    @abstractmethod
    def call(self, function: Function, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value: ...

    def evaluate_call(self, node: ast.Call, names: Names, module: Module) -> Value:
        function = self.evaluate(node.func, names, module)
        args = [self.evaluate(arg, names, module) for arg in node.args]
        keywords = {k.arg: self.evaluate(k.value, names, module) for k in node.keywords if k.arg}
        for keyword in node.keywords:
            if keyword.arg is None:
                spread = self.evaluate(keyword.value, names, module)
                keywords |= spread.entries if isinstance(spread, Record) else {}
        if isinstance(function, Function):
            return self.call(function, args, keywords)
        if isinstance(function, Class):
            instance = Instance(function)
            start = function.find("__init__")
            if isinstance(start, Function):
                self.call(Function(start.node, start.module, start.closure, instance), args, keywords)
            return instance
        match node.func:
            case ast.Name(id=name):
                return self.call_builtin(name, args, keywords)
            case ast.Attribute(value=owner, attr=name):
                return self.call_method(owner, name, args, keywords, names, module)
        return UNKNOWN

    def call_builtin(self, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        match name, args:
            case "getattr", [value, attr]:
                return self.named(value, attr)
            case "getattr" | "hasattr", [Handle(path=()), Const(value=str() as attr), *_]:
                self.notes.guarded.add(attr)
            case "setattr", [value, Const(value="value"), new]:
                if isinstance(value, Handle):
                    self.notes.drive(value, new)
            case "Clock", [Handle() as handle, *_]:
                self.notes.drive(handle, None)
            case "TestFactory", [Function() as function, *_]:
                self.call(function, [Handle()], {})
            case "len", [Handle() as handle] | [ValueOf(handle=handle)]:
                return LengthOf(handle)
            case "dict", _:
                return Record({**(args[0].entries if args and isinstance(args[0], Record) else {}), **keywords})
            case "list" | "tuple" | "sorted" | "set", [Seq() as seq]:
                return seq
            case "range", _ if all(isinstance(arg, Const) and isinstance(arg.value, int) for arg in args) and args:
                numbers = range(*(arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)))
                return Seq(tuple(Const(n) for n in islice(numbers, MAX_ITEMS + 1)))
            case "enumerate", [Seq(items=items)]:
                return Seq(tuple(Seq((Const(at), item)) for at, item in enumerate(items)))
            case "zip", _ if all(isinstance(arg, Seq) for arg in args):
                rows = zip(*(arg.items for arg in args if isinstance(arg, Seq)), strict=False)
                return Seq(tuple(Seq(tuple(row)) for row in rows))
            case "str", [Const(value=value)]:
                return Const(str(value))
            case _:
                for arg in args:
                    self.read(arg)
        return UNKNOWN

    def call_method(
        self,
        owner: ast.expr,
        name: str,
        args: Sequence[Value],
        keywords: Mapping[str, Value],
        names: Names,
        module: Module,
    ) -> Value:
        value = self.evaluate(owner, names, module)
        match value, name, args:
            case Handle(), "_id" | "_get", [attr, *_]:
                return self.named(value, attr)
            case Handle() as handle, _, _ if name in DRIVING_METHODS and handle.path:
                self.notes.drive(handle, args[0] if args else None)
            case Record(entries=entries), "items", []:
                return Seq(tuple(Seq((Const(key), item)) for key, item in entries.items()))
            case Record(entries=entries), "keys", []:
                return Seq(tuple(Const(key) for key in entries))
            case Record(entries=entries), "values", []:
                return Seq(tuple(entries.values()))
            case Record(entries=entries), "update", [Record(entries=more)]:
                entries |= more
            case Const(value=str() as text), "strip" | "lower" | "upper", []:
                return Const({"strip": text.strip, "lower": text.lower, "upper": text.upper}[name]())
            case _, "getenv" | "get", [Const(value=str() as key), *default] if ast.unparse(owner) in (
                "os",
                "os.environ",
            ):
                return Const(self.env[key]) if key in self.env else default[0] if default else Const(None)
            case _, "build" | "test", _ if "hdl_toplevel" in keywords or "toplevel" in keywords:
                self.note_build(name, keywords)
            case _, ("Clock" | "TestFactory"), _:
                return self.call_builtin(name, args, keywords)
            case _ if name in MENDING and isinstance(owner, ast.Name) and owner.id in names:
                names[owner.id] = UNKNOWN
        return UNKNOWN

    def note_build(self, method: str, keywords: Mapping[str, Value]) -> None:
        def text(*keys: str) -> str | None:
            value = next((keywords[key] for key in keys if key in keywords), UNKNOWN)
            return value.value.strip() if isinstance(value, Const) and isinstance(value.value, str) else None

        given = keywords.get("parameters", UNKNOWN)
        parameters = tuple(given.entries) if isinstance(given, Record) else ()
        module = text("test_module", "py_module")
        self.notes.builds.append(Build(method, text("hdl_toplevel", "toplevel"), module, parameters))

"""Follow the Python of a harness statement by statement, without running it."""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from rtl_agent.grading.interface.calls import Caller
from rtl_agent.grading.interface.evaluate import Names, key_equal
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
    Value,
    ValueOf,
    key_of,
)

MAX_DEPTH = 24  # of calls
FORCING = {"Force", "Freeze", "Release", "Deposit"}  # these reach internal signals and outputs too
CATCHING = {"AttributeError", "Exception", "BaseException"}


class Trace(Caller):
    """Traces test functions; what it has seen is in `notes`."""

    def __init__(self, files: Mapping[str, str], env: Mapping[str, str]) -> None:
        super().__init__(env)
        self.files = {PurePosixPath(path).stem: text for path, text in files.items() if path.endswith(".py")}
        self.spells_names = any("getattr(" in text or "_id(" in text for text in self.files.values())
        self.modules: dict[str, Module] = {}
        self.seen: dict[object, Value] = {}
        self.depth = 0
        self.returned: Value = UNKNOWN

    def module(self, name: str) -> Module | None:
        """A file of the harness by its module name, its top level traced; None where there is no such file."""
        if name not in self.modules and name in self.files:
            module = self.modules[name] = Module(name)
            try:
                body = ast.parse(self.files[name]).body
            except (SyntaxError, ValueError):
                return module
            self.block(body, module.names, module)
        return self.modules.get(name)

    def call(self, function: Function, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        given = [function.bound, *args] if function.bound is not None else list(args)
        key = (
            id(function.node),
            tuple(key_of(arg) for arg in given),
            tuple((name, key_of(value)) for name, value in sorted(keywords.items())),
            self.notes.optional_depth > 0,
        )
        if key in self.seen or self.depth >= MAX_DEPTH:
            return self.seen.get(key, UNKNOWN)
        self.seen[key] = UNKNOWN
        names = dict(function.closure)
        names.update(self.defaults(function))
        spec = function.node.args
        positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        names.update(zip(positional, given, strict=False))
        names.update({name: value for name, value in keywords.items() if name in self.parameters(function)})
        outer, self.returned = self.returned, UNKNOWN
        self.depth += 1
        self.block(function.node.body, names, function.module)
        self.depth -= 1
        self.seen[key], self.returned = self.returned, outer
        return self.seen[key]

    @staticmethod
    def parameters(function: Function) -> list[str]:
        spec = function.node.args
        return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]

    def defaults(self, function: Function) -> Names:
        spec = function.node.args
        names: Names = dict.fromkeys(self.parameters(function), UNKNOWN)
        for variadic in (spec.vararg, spec.kwarg):
            if variadic is not None:
                names[variadic.arg] = UNKNOWN
        positional = [*spec.posonlyargs, *spec.args]
        late = positional[len(positional) - len(spec.defaults) :]
        for arg, default in (
            *zip(late, spec.defaults, strict=True),
            *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
        ):
            names[arg.arg] = self.evaluate(default, function.module.names, function.module)
        return names

    def block(self, statements: Iterable[ast.stmt], names: Names, module: Module) -> bool:
        """Whether the block never reaches its end."""
        return any(self.statement(statement, names, module) for statement in statements)

    def statement(self, node: ast.stmt, names: Names, module: Module) -> bool:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names[node.name] = Function(node, module, {} if names is module.names else names)
            case ast.ClassDef():
                members: Names = {}
                self.block(node.body, members, module)
                for member in members.values():
                    if isinstance(member, Function):  # a method does not see the names of its class
                        member.closure = {} if names is module.names else names
                found = [self.evaluate(base, names, module) for base in node.bases]
                names[node.name] = Class(node, module, members, tuple(b for b in found if isinstance(b, Class)))
            case ast.Import() | ast.ImportFrom():
                self.take_import(node, names)
            case ast.Assign(targets=targets, value=value):
                result = self.evaluate(value, names, module)
                for target in targets:
                    self.assign(target, result, value, names, module)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.assign(target, self.evaluate(value, names, module), value, names, module)
            case ast.AugAssign(target=target, value=value):
                self.evaluate(value, names, module)
                self.assign(target, UNKNOWN, value, names, module)
            case ast.Expr(value=ast.Compare(left=left, ops=[ast.LtE()], comparators=[right])):
                handle = self.evaluate(left, names, module)
                driven = self.evaluate(right, names, module)
                if isinstance(handle, Handle):
                    self.notes.drive(handle, driven)
            case ast.Return(value=value):
                self.returned = self.evaluate(value, names, module)
                return True
            case ast.Raise(exc=error):
                self.optionally(lambda: self.evaluate(error, names, module))
                return True
            case ast.Continue() | ast.Break():
                return True
            case ast.Assert(test=test, msg=message):
                self.take_assert(test, names, module)
                self.optionally(lambda: self.evaluate(message, names, module))
            case ast.If():
                return self.take_if(node, names, module)
            case ast.For() | ast.AsyncFor() | ast.While():
                self.take_loop(node, names, module)
            case ast.With() | ast.AsyncWith():
                return self.take_with(node, names, module)
            case ast.Try():
                return self.take_try(node, names, module)
            case ast.Match(subject=subject, cases=cases):
                self.evaluate(subject, names, module)
                self.branches([case.body for case in cases], names, module)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child, names, module)
        return False

    def optionally(self, act: Callable[[], object]) -> None:
        self.notes.optional_depth += 1
        act()
        self.notes.optional_depth -= 1

    def take_import(self, node: ast.Import | ast.ImportFrom, names: Names) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                first = alias.name.split(".")[0]
                found = self.module(first) or (Module("cocotb") if first == "cocotb" else None)
                names[alias.asname or first] = found or UNKNOWN
                continue
            source = self.module((node.module or alias.name).rpartition(".")[2])
            if alias.name == "*":
                names.update(source.names if source else {})
            else:
                names[alias.asname or alias.name] = source.names.get(alias.name, UNKNOWN) if source else UNKNOWN

    def assign(self, target: ast.expr, value: Value, source: ast.expr, names: Names, module: Module) -> None:
        match target:
            case (
                ast.Attribute(value=inner, attr="value") | ast.Subscript(value=ast.Attribute(value=inner, attr="value"))
            ):
                handle = self.evaluate(inner, names, module)
                call = source.func if isinstance(source, ast.Call) else source
                forced = (call.id if isinstance(call, ast.Name) else getattr(call, "attr", "")) in FORCING
                if isinstance(handle, Handle) and not forced:
                    self.notes.drive(handle, value)
            case ast.Attribute(value=inner, attr=name):
                owner = self.evaluate(inner, names, module)
                if isinstance(owner, Instance):
                    # Numbers change while a test runs; handles, texts and objects stay what they are.
                    plain = isinstance(value, Const) and not isinstance(value.value, str)
                    owner.attributes[name] = UNKNOWN if plain else value
                elif owner == Handle() and not name.startswith("_"):
                    self.notes.drive(Handle((name,)), value)  # `dut.x = 1` drives in cocotb 1 and fails in cocotb 2
            case ast.Subscript(value=inner, slice=index):
                owner, key = self.evaluate(inner, names, module), self.evaluate(index, names, module)
                if isinstance(owner, Record) and isinstance(key, Const) and isinstance(key.value, str):
                    owner.entries[key.value] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if any(not isinstance(part, ast.Name) for part in parts):
                for part in parts:
                    self.assign(part, UNKNOWN, source, names, module)
            case _:
                self.bind(target, value, names)

    def take_assert(self, test: ast.expr, names: Names, module: Module) -> None:
        self.evaluate(test, names, module)
        for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
            if isinstance(part, ast.Call) and ast.unparse(part.func) == "hasattr" and len(part.args) == 2:
                owner, name = (self.evaluate(arg, names, module) for arg in part.args)
                if owner == Handle() and isinstance(name, Const) and not self.notes.optional_depth:
                    self.notes.asserted.add(str(name.value))
            if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
                sides = [self.evaluate(side, names, module) for side in (part.left, part.comparators[0])]
                for length, bits in (sides, sides[::-1]):
                    if isinstance(length, LengthOf) and isinstance(bits, Const) and type(bits.value) is int:
                        self.notes.width(length.handle, bits.value)

    def take_if(self, node: ast.If, names: Names, module: Module) -> bool:
        decided = self.evaluate(node.test, names, module)
        if isinstance(decided, ValueOf | Handle):
            self.read(decided)
        if isinstance(decided, Const):
            return self.block(node.body if decided.value else node.orelse, names, module)
        guard = self.is_guard(node.test, names, module)
        self.notes.optional_depth += guard
        ended = self.branches([node.body, node.orelse], names, module)
        self.notes.optional_depth -= guard
        return ended

    def branches(self, bodies: Sequence[Sequence[ast.stmt]], names: Names, module: Module) -> bool:
        """Each body may run: a name keeps its value only if they agree. A body that ends in `raise` is not needed."""
        before = dict(names)
        ends: list[Names] = []
        for body in bodies:
            inner = dict(before)
            fails = bool(body) and isinstance(body[-1], ast.Raise)
            self.notes.optional_depth += fails
            if not self.block(body, inner, module):
                ends.append(inner)
            self.notes.optional_depth -= fails
        for name in {name for end in ends for name in end}:
            values = [end.get(name, UNKNOWN) for end in ends]
            names[name] = values[0] if all(key_equal(values[0], value) for value in values) else UNKNOWN
        return not ends

    def take_loop(self, node: ast.For | ast.AsyncFor | ast.While, names: Names, module: Module) -> None:
        for inner in (part for statement in node.body for part in ast.walk(statement)):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names[inner.id] = UNKNOWN  # it may have another value each time round
        if isinstance(node, ast.While):
            self.read(self.evaluate(node.test, names, module))
            self.block(node.body, names, module)
        else:
            for item in self.items_of(self.evaluate(node.iter, names, module)):
                self.assign(node.target, item, node.iter, names, module)
                self.block(node.body, names, module)
        self.block(node.orelse, names, module)

    def take_with(self, node: ast.With | ast.AsyncWith, names: Names, module: Module) -> bool:
        lenient = any(
            "suppress" in ast.unparse(item.context_expr) or "raises" in ast.unparse(item.context_expr)
            for item in node.items
        )
        for item in node.items:
            value = self.evaluate(item.context_expr, names, module)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value, names)
        self.notes.optional_depth += lenient
        ended = self.block(node.body, names, module)
        self.notes.optional_depth -= lenient
        return ended

    def take_try(self, node: ast.Try, names: Names, module: Module) -> bool:
        lenient = any(self.forgives(handler) for handler in node.handlers)
        self.notes.optional_depth += lenient
        ended = self.block([*node.body, *node.orelse], names, module)
        self.notes.optional_depth -= lenient
        for handler in node.handlers:
            self.optionally(partial(self.block, handler.body, dict(names), module))
        return self.block(node.finalbody, names, module) or (ended and not node.handlers)

    @staticmethod
    def forgives(handler: ast.ExceptHandler) -> bool:
        """Whether a missing name ends in this handler and the test goes on."""
        caught = {"BaseException"} if handler.type is None else {getattr(n, "id", "") for n in ast.walk(handler.type)}
        again = any(isinstance(part, ast.Raise) for statement in handler.body for part in ast.walk(statement))
        return bool(caught & CATCHING) and not again

"""Which cocotb a harness was written for: the signs in its files, each with its line, and what they decide."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rtl_agent.problems.cocotb_version.expressions import VALUES, Kind, Scope, kind_of
from rtl_agent.problems.cocotb_version.table import BY_NAME, ONE, TWO, Sign, Weight
from rtl_agent.problems.cocotb_version.uses import call_signs, import_signs, operation_signs, packed_signs
from rtl_agent.problems.problem import CocotbVersion

Found = tuple[str, int]  # the name of a sign, a line
_JUDGED = (
    ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Expr, ast.Assign, ast.Attribute, ast.Call, ast.Await
)  # fmt: skip
_MAX_CALLS = 500  # followed in one file


@lru_cache(maxsize=1024)  # generated problems share their files; a harness takes 13 ms, CVDP's development part 3 s
def signs_in(text: str) -> tuple[Found, ...]:
    """Every sign in a file, in the order of its lines; nothing in what is not Python."""
    try:
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        walk = _Walk(nodes)
        walk.scope.exprs = _assigned_once([node for top in tree.body for node in _of_the_module(top)])[1]
        walk.block(tree.body, walk.scope)
        found = [*walk.found, *import_signs(nodes), *packed_signs(nodes, walk.handles)]
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(sorted(set(found), key=lambda sign: (sign[1], sign[0])))


class _Walk:
    """Statement by statement, in the order in which they are written; branches are joined, loops are walked once."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self.found: list[Found] = []
        self.handles: dict[int, str] = {}  # expression (by id) -> its text, of those that are handles
        self.scope = Scope()
        self.functions = _functions(nodes)
        self.once: dict[int, tuple[set[str], dict[str, ast.expr]]] = {}  # of functions, by id
        self.walked: set[tuple[str, ...]] = set()
        self.scope.classes = frozenset(
            {node.name for node in nodes if isinstance(node, ast.ClassDef)}
            | {name.asname or name.name for node in nodes if isinstance(node, ast.ImportFrom | ast.Import)
               for name in node.names}
        )  # fmt: skip
        for function in (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            self._learn(function)

    def _learn(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """What it returns, and what it keeps in `self`, before anything is judged."""
        within = list(ast.walk(function))
        self.once[id(function)] = _assigned_once(within)
        quiet = _Quiet(self)
        scope = quiet.enter(function, self.scope)
        quiet.block(function.body, scope)
        for node in within:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    match target:
                        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                            self.scope.attributes[attr] = kind_of(node.value, scope)
        returned = [node.value for node in within if isinstance(node, ast.Return)]
        kinds = {kind_of(value, scope) if value is not None else Kind.PLAIN for value in returned}
        if kinds and kinds <= VALUES:
            self.scope.returns[function.name] = Kind.VALUE if kinds == {Kind.VALUE} else Kind.MAYBE

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in node.decorator_list:
                    self._look(decorator, scope)
                self.block(node.body, self.enter(node, scope))
            case ast.ClassDef(body=body):
                self.block(body, Scope(scope))
            case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                self._look(test, scope)
                self._branches([body, orelse], scope)
            case ast.For(target=target, iter=items, body=body) | ast.AsyncFor(target=target, iter=items, body=body):
                self._look(items, scope)
                self._bind(target, _element(kind_of(items, scope)), scope)
                scope.exprs.update(_first_row(target, items))
                self._branches([body, node.orelse], scope)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                self.block([*body, *orelse], scope)
                self._branches([[], *(handler.body for handler in handlers)], scope)
                self.block(final, scope)
            case ast.With(items=contexts, body=body) | ast.AsyncWith(items=contexts, body=body):
                for context in contexts:
                    self._look(context.context_expr, scope)
                self.block(body, scope)
            case _:
                self._look(node, scope)
                self._assign(node, scope)

    def _branches(self, bodies: Sequence[Sequence[ast.stmt]], scope: Scope) -> None:
        branches = []
        for body in bodies:
            branch = Scope(scope)
            self.block(body, branch)
            branches.append(branch)
        scope.join(*branches)

    def enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Scope) -> Scope:
        """A function's own names: its first parameter is the design in a cocotb test, and `dut` is it anywhere."""
        scope = Scope(outer)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        is_test = any("cocotb" in ast.unparse(decorator) for decorator in node.decorator_list)
        for index, argument in enumerate(arguments):
            handle = argument.arg == "dut" or (is_test and index == 0)
            scope.kinds[argument.arg] = Kind.HANDLE if handle else Kind.UNKNOWN
            scope.exprs.pop(argument.arg, None)
        stored, once = self.once.get(id(node), (set(), {}))
        scope.exprs = {name: value for name, value in scope.exprs.items() if name not in stored} | once
        return scope

    def _assign(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind_value(target, value, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind_value(target, value, scope)
            case ast.AugAssign(target=ast.Name(id=name)):
                scope.kinds[name] = Kind.PLAIN if scope.kinds.get(name) is Kind.PLAIN else Kind.UNKNOWN

    def _bind_value(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        match target, value:
            case (ast.Tuple(elts=names) | ast.List(elts=names), ast.Tuple(elts=values) | ast.List(elts=values)):
                if len(names) == len(values):
                    kinds = [kind_of(item, scope) for item in values]
                    for name, kind in zip(names, kinds, strict=True):
                        self._bind(name, kind, scope)
                    return
        self._bind(target, kind_of(value, scope), scope)

    def _bind(self, target: ast.expr, kind: Kind, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.kinds[name] = kind
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._bind(part, Kind.UNKNOWN, scope)

    def _look(self, node: ast.AST, scope: Scope) -> None:
        """Every expression of a statement, those of a comprehension with its own names."""
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inner = Scope(scope)
            for generator in node.generators:
                self._look(generator.iter, inner)
                self._bind(generator.target, _element(kind_of(generator.iter, inner)), inner)
                for condition in generator.ifs:
                    self._look(condition, inner)
            for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
                self._look(part, inner)
            return
        if isinstance(node, ast.Lambda):
            scope = Scope(scope)
            for argument in node.args.args:
                scope.kinds[argument.arg] = Kind.UNKNOWN
        if isinstance(node, ast.expr) and kind_of(node, scope) is Kind.HANDLE:
            self.handles[id(node)] = ast.unparse(node)
        self.found += self._judge(node, scope)
        if isinstance(node, ast.Call):
            self._follow(node, scope)
        for child in ast.iter_child_nodes(node):
            self._look(child, scope)

    def _follow(self, call: ast.Call, scope: Scope) -> None:
        """A function of the same file, with what this call gives it: `field(dut.x.value, 39, 20)`."""
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        function = self.functions.get(name)
        if function is None:
            return
        given = _arguments(call, function)
        kinds = {argument: kind_of(value, scope) for argument, value in given.items()}
        handed = tuple(f"{argument}={kinds[argument].value}:{ast.unparse(value)}" for argument, value in given.items())
        if (name, *handed) in self.walked or len(self.walked) > _MAX_CALLS:
            return
        self.walked.add((name, *handed))
        inner = self.enter(function, self.scope)
        inner.kinds.update({argument: kind for argument, kind in kinds.items() if kind is not Kind.UNKNOWN})
        inner.exprs.update({argument: scope.exprs.get(ast.unparse(value), value) for argument, value in given.items()})
        self.block(function.body, inner)

    def _judge(self, node: ast.AST, scope: Scope) -> Iterator[Found]:
        if not isinstance(node, _JUDGED):
            return
        for name in (*operation_signs(node, scope), *call_signs(node, scope)):
            yield name, getattr(node, "lineno", 0)


class _Quiet(_Walk):
    """Learns what names hold, and judges nothing."""

    def __init__(self, walk: _Walk) -> None:
        self.scope, self.once, self.functions = walk.scope, walk.once, {}

    def _look(self, node: ast.AST, scope: Scope) -> None:
        pass


def _element(kind: Kind) -> Kind:
    """Of what a loop goes through: handles of an array of handles, bits of a value, characters of its text."""
    return kind if kind in (Kind.HANDLE, Kind.TEXT) or kind in VALUES else Kind.UNKNOWN


def _first_row(target: ast.expr, items: ast.expr) -> dict[str, ast.expr]:
    """`for hi, lo in ((39, 20), (19, 0))`: the rows of such a table run the same way."""
    match target, items:
        case (ast.Tuple(elts=names), ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_])):
            row = first.elts if isinstance(first, ast.Tuple | ast.List) else []
            if len(names) == len(row):
                return {name.id: value for name, value in zip(names, row, strict=True) if isinstance(name, ast.Name)}
    return {}


def _of_the_module(node: ast.stmt) -> list[ast.AST]:
    inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return [] if inner else list(ast.walk(node))


def _functions(nodes: Sequence[ast.AST]) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """By name; a name that two classes use is nobody's."""
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    twice: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in found:
                twice.add(node.name)
            found[node.name] = node
    return {name: node for name, node in found.items() if name not in twice}


def _arguments(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] == ["self"] and isinstance(call.func, ast.Attribute):
        names = names[1:]
    given = dict(zip(names, call.args, strict=False))
    return given | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _assigned_once(nodes: Sequence[ast.AST]) -> tuple[set[str], dict[str, ast.expr]]:
    """All names that are assigned, and those with one assignment: a bound of a slice can be looked up by these."""
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and stored[target.id] == 1:
                found[target.id] = node.value
    return set(stored), found


@dataclass(frozen=True)
class Decision:
    """The generation, the signs it was read off with their places (`file:line`), and a sentence."""

    cocotb_version: CocotbVersion
    signs: Mapping[str, tuple[str, ...]]
    reason: str

    def favouring(self, version: CocotbVersion) -> list[Sign]:
        """The signs that argue for a generation, the heaviest first."""
        found = [BY_NAME[name] for name in self.signs if BY_NAME[name].favours is version]
        return sorted(found, key=lambda sign: (-sign.weight, sign.name))

    @property
    def mixed(self) -> bool:
        """Whether both generations have a sign that is more than a hint: one of them may not run as it stands."""
        return all(any(s.weight > Weight.HINT for s in self.favouring(version)) for version in (ONE, TWO))


def cocotb_version_of(files: Mapping[str, str]) -> CocotbVersion:
    """The generation to run these harness files with."""
    return decide(files).cocotb_version


def decide(files: Mapping[str, str]) -> Decision:
    places: dict[str, list[str]] = {}
    for path, text in files.items():
        for name, line in signs_in(text) if path.endswith(".py") else ():
            places.setdefault(name, []).append(f"{path}:{line}")
    version, reason = _weigh(set(places))
    return Decision(version, {name: tuple(found) for name, found in places.items()}, reason)


def _weigh(names: set[str]) -> tuple[CocotbVersion, str]:
    for weight in (Weight.ALL, Weight.SOME, Weight.HINT):
        sides = {
            version: sorted(
                name for name in names if BY_NAME[name].favours is version and BY_NAME[name].weight == weight
            )
            for version in (ONE, TWO)
        }
        if sides[ONE] and sides[TWO]:
            if weight is Weight.SOME:
                continue  # what works for some signals may work for these: the runner tells more
            both = ", ".join(sides[ONE]), ", ".join(sides[TWO])
            return TWO, f"{both[1]} against {both[0]}: 2.0.1, which CVDP pins"
        for version, signs in sides.items():
            if signs:
                return version, ", ".join(signs)
    return TWO, "no sign of either: 2.0.1, which CVDP pins"

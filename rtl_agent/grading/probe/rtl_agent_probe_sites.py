"""Which checks of a harness depend on the design: read off its Python, and written into its code.

Only where a job asks for counted checks. Data flow is followed by names, through all modules of the harness, without
regard to order: from `.value` of a signal through variables, attributes, containers, arguments and results of the
harness's own functions. Each name then stands for a set of signals; "?" is one that only the simulation can name.

A check is an assertion, or an `if` around a comparison that raises, logs an error or counts one. An assertion is
rewritten by pytest as always, and only the place where it decides whether to raise asks rtl_agent_probe_checks.
"""

import ast
import re

import rtl_agent_probe_checks
from _pytest.assertion.rewrite import AssertionRewriter

SOMETHING = "?"
EQUAL, TRUE, FALSE, OTHER = "equal", "true", "false", "other"

_FILLS = ("append", "appendleft", "add", "extend", "insert", "put", "put_nowait", "send", "update")
_SAYS_WRONG = ("error", "critical", "fail", "exception")
_COUNTS_WRONG = re.compile(r"err|fail|mismatch|wrong|bad", re.IGNORECASE)
_ROUNDS = 8  # of the fixed point; a longer chain of calls is cut
_MOST_SIGNALS = 24  # that one side of a check is said to depend on

_nothing = frozenset()


class Flow:
    """Which signals each variable, attribute, parameter and result of the harness may come from."""

    def __init__(self, trees):
        self._values = {}  # (kind, owner, name) -> signals
        self._functions = {}  # name -> its definitions
        self._names = {}  # id of a function -> its name
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self._functions.setdefault(node.name, []).append(node)
                    self._names[id(node)] = node.name
        for _ in range(_ROUNDS):
            self._changed = False
            for tree in trees:
                self._walk(tree.body, (id(tree),))
            if not self._changed:
                break

    def _add(self, key, signals):
        have = self._values.get(key, _nothing)
        if not signals <= have:
            self._values[key] = frozenset(sorted(have | signals)[:_MOST_SIGNALS])
            self._changed = self._changed or self._values[key] != have

    def _walk(self, body, scope):
        for node in body:
            self._statement(node, scope)

    def _statement(self, node, scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._walk(node.body, (id(node), *scope))
            return
        if isinstance(node, ast.ClassDef):
            self._walk(node.body, scope)
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._bind(target, node.value, scope)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._bind(node.target, node.iter, scope)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, item.context_expr, scope)
        elif isinstance(node, ast.Return) and node.value is not None:
            self._add(("result", self._names.get(scope[0], ""), ""), self.signals(node.value, scope))
        elif isinstance(node, ast.If) and (wrong := _wrong_branch(node)):
            for one in wrong:  # a count of what was wrong comes from what was compared
                if isinstance(one, ast.AugAssign):
                    self._bind(one.target, node.test, scope)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statement(child, scope)
            elif isinstance(child, ast.ExceptHandler) or type(child).__name__ == "match_case":
                self._walk(child.body, scope)
            elif isinstance(child, ast.expr):
                self._expression(child, scope)

    def _bind(self, target, value, scope):
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else ()
            same = len(parts) == len(target.elts)
            for at, one in enumerate(target.elts):
                self._bind(one, parts[at] if same else value, scope)
            return
        signals = self.signals(value, scope)
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, ast.Name):
            self._add(("name", scope[0], target.id), signals)
        elif isinstance(target, ast.Attribute) and target.attr != "value":
            self._add(("attribute", "", target.attr), signals)

    def _expression(self, node, scope):
        """What calls carry into parameters and containers, and what comprehensions and `:=` bind."""
        for one in ast.walk(node):
            if isinstance(one, ast.comprehension):
                self._bind(one.target, one.iter, scope)
            elif isinstance(one, ast.NamedExpr):
                self._bind(one.target, one.value, scope)
            elif isinstance(one, (ast.Yield, ast.YieldFrom)) and one.value is not None:
                self._add(("result", self._names.get(scope[0], ""), ""), self.signals(one.value, scope))
            elif isinstance(one, ast.Call):
                self._call(one, scope)

    def _call(self, call, scope):
        name = _called(call)
        if name in _FILLS and isinstance(call.func, ast.Attribute):
            for argument in call.args:
                self._bind(call.func.value, argument, scope)
        for function in self._functions.get(name, ()):
            parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
            if isinstance(call.func, ast.Attribute) and parameters[:1] == ["self"]:
                parameters = parameters[1:]
            given = [*zip(parameters, call.args, strict=False)]
            given += [(one.arg, one.value) for one in call.keywords if one.arg]
            for parameter, argument in given:
                self._add(("name", id(function), parameter), self.signals(argument, scope))

    def signals(self, node, scope):
        """Those that a value may come from."""
        if isinstance(node, ast.Name):
            found = [self._values[key] for one in scope if (key := ("name", one, node.id)) in self._values]
            return found[0] if found else _nothing
        if isinstance(node, ast.Attribute):
            if node.attr == "value":
                return frozenset((_signal(node.value),)) | self._inside(node.value, scope)
            of_attribute = self._values.get(("attribute", "", node.attr), _nothing)
            return of_attribute | self.signals(node.value, scope)
        if isinstance(node, ast.Call):
            name = _called(node)
            if name in self._functions:
                own = self._values.get(("result", name, ""), _nothing)
                return own | (self.signals(node.func.value, scope) if isinstance(node.func, ast.Attribute) else own)
        if isinstance(node, ast.Lambda):
            return _nothing
        return self._inside(node, scope)

    def _inside(self, node, scope):
        found = _nothing
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                found |= self.signals(child, scope)
            elif isinstance(child, (ast.comprehension, ast.keyword)):
                found |= self.signals(child.iter if isinstance(child, ast.comprehension) else child.value, scope)
        return found


def _called(call):
    """The name of the function, without what it belongs to."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _signal(handle):
    """`dut.grant`, `dut.unit.grant[3]` -> grant; "?" for what is not spelled out."""
    while isinstance(handle, ast.Subscript):
        if isinstance(handle.slice, ast.Constant) and isinstance(handle.slice.value, str):
            return handle.slice.value
        handle = handle.value
    if isinstance(handle, ast.Attribute):
        return handle.attr
    if isinstance(handle, ast.Call) and _called(handle) == "getattr" and len(handle.args) > 1:
        name = handle.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return name.value
    return SOMETHING


def instrument(tree, flow, source, path):
    """Rewrite a module's assertions as pytest does, with counted checks."""
    sites = _Sites(flow)
    sites.look(tree)
    _Rewriter(path, None, source, sites.of_assertion).run(tree)


class _Sites:
    """Each check, with the signals on its two sides."""

    def __init__(self, flow):
        self._flow = flow
        self.of_assertion = {}  # id of an assertion -> kind, signals on the left and on the right

    def look(self, tree):
        self._look(tree, (id(tree),))

    def _look(self, node, scope):
        for child in ast.iter_child_nodes(node):
            inside = (id(child), *scope) if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else scope
            self._look(child, inside)
            if isinstance(child, ast.Assert):
                self.of_assertion[id(child)] = self._sides(child.test, scope)
            elif isinstance(child, ast.If):
                self._rewrite_if(child, scope)

    def _sides(self, test, scope):
        flow = self._flow
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            return EQUAL, _sorted(flow.signals(test.left, scope)), _sorted(flow.signals(test.comparators[0], scope))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return FALSE, _sorted(flow.signals(test.operand, scope)), ()
        kind = OTHER if isinstance(test, (ast.Compare, ast.BoolOp)) else TRUE
        return kind, _sorted(flow.signals(test, scope)), ()

    def _rewrite_if(self, node, scope):
        """`if got != expected:` around what says that it is wrong."""
        wrong = _wrong_branch(node)
        if not wrong:
            return
        test, differs = node.test, isinstance(node.test.ops[0], ast.NotEq)
        left, right = (self._flow.signals(side, scope) for side in (test.left, test.comparators[0]))
        if not left and not right:
            return
        stops = any(isinstance(one, (ast.Raise, ast.Assert)) for one in wrong)
        words = [ast.Constant(_sorted(left)), ast.Constant(_sorted(right)), ast.Constant(differs), ast.Constant(stops)]
        call = ast.Call(_runtime("compared"), [test.left, test.comparators[0], *words], [])
        node.test = ast.copy_location(call, test)
        ast.fix_missing_locations(node.test)


def _sorted(signals):
    return tuple(sorted(signals))


def _wrong_branch(node):
    """Of an `if` around a comparison: what is done when it does not match, if that says that something is wrong."""
    test = node.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.NotEq))):
        return []
    branch = node.body if isinstance(test.ops[0], ast.NotEq) else node.orelse
    return branch if any(map(_says_wrong, branch)) else []


def _says_wrong(node):
    if isinstance(node, (ast.Raise, ast.Assert)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _called(node.value) in _SAYS_WRONG
    if isinstance(node, ast.AugAssign):
        return bool(_COUNTS_WRONG.search(getattr(node.target, "id", "") or getattr(node.target, "attr", "")))
    return False


def _runtime(name):
    return ast.Attribute(ast.Name(rtl_agent_probe_checks.NAME, ast.Load()), name, ast.Load())


class _Rewriter(AssertionRewriter):
    """pytest's, and before an assertion raises the count is asked."""

    def __init__(self, path, config, source, sites):
        super().__init__(path, config, source)
        self._sites = sites

    def visit_Assert(self, assertion):
        kind, left, right = self._sites.get(id(assertion), (OTHER, (), ()))
        statements = super().visit_Assert(assertion)
        decision = next(one for one in reversed(statements) if isinstance(one, ast.If))
        operands = _operands(statements, decision.test.operand) if kind == EQUAL else None
        if kind == EQUAL and operands is None:
            kind = OTHER
        words = [ast.Constant(kind), ast.Constant(left), ast.Constant(right), *(operands or ())]
        decision.test = ast.Call(_runtime("fails"), [decision.test.operand, *words], [])
        for node in ast.walk(decision.test):
            ast.copy_location(node, assertion)
        return statements


def _operands(statements, result):
    """Where pytest keeps what was compared; None where looking again would compute it again."""
    for one in statements:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Compare) and isinstance(result, ast.Name):
            kept = (one.value.left, *one.value.comparators)
            if getattr(one.targets[0], "id", "") == result.id and all(isinstance(side, ast.Name) for side in kept):
                return [ast.Name(side.id, ast.Load()) for side in kept]
    return None

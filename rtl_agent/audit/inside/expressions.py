"""Mistakes in expressions: operators, constants, names, selects, concatenations, and how a mutation is written down.

A mutation is a list of replaced byte ranges: what is not mutated stays as it was written.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tree import Design, Module, below, children, is_node, kind

OPERATORS = {
    "AddExpression": ("arithmetic", ["-"]),
    "SubtractExpression": ("arithmetic", ["+"]),
    "MultiplyExpression": ("arithmetic", ["+"]),
    "DivideExpression": ("arithmetic", ["*"]),
    "ModExpression": ("arithmetic", ["/"]),
    "LessThanExpression": ("relational", ["<=", ">="]),
    "LessThanEqualExpression": ("relational", ["<", ">"]),
    "GreaterThanExpression": ("relational", [">=", "<="]),
    "GreaterThanEqualExpression": ("relational", [">", "<"]),
    "EqualityExpression": ("relational", ["!="]),
    "InequalityExpression": ("relational", ["=="]),
    "CaseEqualityExpression": ("relational", ["!=="]),
    "CaseInequalityExpression": ("relational", ["==="]),
    "LogicalAndExpression": ("logical", ["||"]),
    "LogicalOrExpression": ("logical", ["&&"]),
    "BinaryAndExpression": ("bitwise", ["|", "^"]),
    "BinaryOrExpression": ("bitwise", ["&", "^"]),
    "BinaryXorExpression": ("bitwise", ["|", "~^"]),
    "BinaryXnorExpression": ("bitwise", ["^"]),
    "LogicalShiftLeftExpression": ("shift", [">>"]),
    "LogicalShiftRightExpression": ("shift", ["<<", ">>>"]),
    "ArithmeticShiftLeftExpression": ("shift", [">>>"]),
    "ArithmeticShiftRightExpression": ("shift", [">>"]),
    "AddAssignmentExpression": ("arithmetic", ["-="]),
    "SubtractAssignmentExpression": ("arithmetic", ["+="]),
    "AndAssignmentExpression": ("bitwise", ["|="]),
    "OrAssignmentExpression": ("bitwise", ["&="]),
    "XorAssignmentExpression": ("bitwise", ["|="]),
}
REDUCTIONS = {
    "UnaryBitwiseAndExpression": ["|"],
    "UnaryBitwiseOrExpression": ["&", "^"],
    "UnaryBitwiseXorExpression": ["~^", "|"],
    "UnaryBitwiseNandExpression": ["~|"],
    "UnaryBitwiseNorExpression": ["~&"],
    "UnaryBitwiseXnorExpression": ["^"],
}
NOT_COMMUTATIVE = {
    "SubtractExpression",
    "DivideExpression",
    "ModExpression",
    "LogicalShiftLeftExpression",
    "LogicalShiftRightExpression",
    "ArithmeticShiftRightExpression",
}
# What says nothing of the circuit, or cannot be compiled with another number in it.
LEFT_ALONE = {
    "AttributeInstance", "SpecifyBlock", "ImmediateAssertStatement", "ConcurrentAssertionMember", "DelayControl",
    "Delay3", "AnsiPortList", "NonAnsiPortList", "PortDeclaration", "TypedefDeclaration", "TimeUnitsDeclaration",
    "AssertPropertyStatement", "CoverPropertyStatement", "AssumePropertyStatement", "GenvarDeclaration",
}  # fmt: skip
_SIZED = re.compile(r"(\d+)\s*'\s*([sS]?)([bodhBODH])\s*([0-9a-fA-F_]+)")
_BASES = {"b": (2, "b"), "o": (8, "o"), "d": (10, "d"), "h": (16, "x")}

Mutation = dict[str, Any]


class Expressions:
    """Through one module. `_reset` is set in a branch that a reset selects, `_select` in an index, `_constant` where
    no signal may stand."""

    def __init__(self, design: Design, module: Module, parameters: Sequence[str]) -> None:
        self.design, self.mod = design, module
        self.parameters = {name: value for name, value in module.parameters.items() if name in parameters}
        self.clocks: set[str] = set()
        self.selected: set[str] = set()  # names of which single bits are taken somewhere
        self._resets: set[Any] = set()  # where the branches begin that a reset selects
        self._reset = self._select = self._constant = False

    # What a mutation is made of

    def edit(self, group: str, operator: str, *changes: tuple[Any, str]) -> Iterator[Mutation]:
        """Replace nodes or tokens by texts; nothing where one of them stands in no file."""
        edits, files = [], set()
        for what, text in changes:
            place = self.design.place(what) if is_node(what) else self.design.token_place(what)
            if place is None:
                return
            files.add(place[0])
            edits.append([place[1], place[2], text])
        if len(files) == 1 and files == {self.mod.file}:
            edits.sort()
            line = self.design.line(self.mod.file, edits[0][0])
            yield {"group": group, "operator": operator, "file": self.mod.file, "line": line, "edits": edits}

    def text(self, node: Any) -> str:
        return self.design.text(node) or ""

    # Where it can be made

    def node(self, node: Any) -> Iterator[Mutation]:
        name = kind(node)
        if name in LEFT_ALONE:
            return
        visit = getattr(self, f"visit_{name}", None)
        if visit is not None:
            yield from visit(node)
            return
        if name in OPERATORS:
            yield from self.binary(node, name)
        elif name in REDUCTIONS or name.startswith("Unary"):
            yield from self.unary(node, name)
        yield from self.inside(node)

    def inside(self, node: Any) -> Iterator[Mutation]:
        for child in children(node):
            if is_node(child):
                yield from self.node(child)

    def binary(self, node: Any, name: str) -> Iterator[Mutation]:
        group, others = OPERATORS[name]
        for other in others:
            yield from self.edit(
                group, f"operator {node.operatorToken.rawText} becomes {other}", (node.operatorToken, other)
            )
        left, right = self.text(node.left), self.text(node.right)
        if name in NOT_COMMUTATIVE and left and right and left != right:
            yield from self.edit("operands", "operands swapped", (node.left, f"({right})"), (node.right, f"({left})"))

    def unary(self, node: Any, name: str) -> Iterator[Mutation]:
        token = next((child for child in children(node) if not is_node(child)), None)
        operand = next((child for child in children(node) if is_node(child) and kind(child) != "SyntaxList"), None)
        if token is None or operand is None:
            return
        if name in REDUCTIONS:
            if self.design.width(operand) != 1:
                for other in REDUCTIONS[name]:
                    yield from self.edit("reduction", f"reduction {token.rawText} becomes {other}", (token, other))
        elif name in ("UnaryBitwiseNotExpression", "UnaryLogicalNotExpression", "UnaryMinusExpression"):
            group = {"UnaryBitwiseNotExpression": "bitwise", "UnaryLogicalNotExpression": "logical"}
            yield from self.edit(group.get(name, "arithmetic"), f"operator {token.rawText} dropped", (token, ""))

    # Constants

    def visit_IntegerLiteralExpression(self, node: Any) -> Iterator[Mutation]:
        text = self.text(node)
        if text.replace("_", "").isdecimal():
            value = int(text.replace("_", ""))
            yield from self.constant(node, [str(value + 1), *([str(value - 1)] if value else [])])

    def visit_IntegerVectorExpression(self, node: Any) -> Iterator[Mutation]:
        match = _SIZED.fullmatch(self.text(node))
        if match is None:
            return
        size, sign, base, digits = match.groups()
        radix, form = _BASES[base.lower()]
        value, most = int(digits.replace("_", ""), radix), 1 << min(int(size), 4096)
        others = dict.fromkeys([(value + 1) % most, (value - 1) % most])
        yield from self.constant(node, [f"{size}'{sign}{base}{other:{form}}" for other in others if other != value])

    def visit_UnbasedUnsizedLiteralExpression(self, node: Any) -> Iterator[Mutation]:
        yield from self.constant(node, {"'0": ["'1"], "'1": ["'0"]}.get(self.text(node), []))

    def constant(self, node: Any, others: Sequence[str]) -> Iterator[Mutation]:
        if self._reset:
            yield from self.edit("reset", "reset value changed", *[(node, other) for other in others[:1]])
        elif self._select:
            for other in others:
                yield from self.edit("select", "index off by one", (node, other))
        else:
            for other in others:
                yield from self.edit("constant", "constant off by one", (node, other))

    # Names

    def visit_IdentifierName(self, node: Any) -> Iterator[Mutation]:
        yield from self.identifier(node, node.identifier)

    def visit_IdentifierSelectName(self, node: Any) -> Iterator[Mutation]:
        yield from self.identifier(node, node.identifier)
        yield from self.selectors(node)

    def identifier(self, node: Any, token: Any) -> Iterator[Mutation]:
        """Another signal of the same width in its place: the next ones in the order of their names, from this one."""
        name = token.valueText
        if name in self.parameters:
            if self.parameters[name].lstrip("-").isdecimal():
                yield from self.edit("parameter", "parameter ignored for its default", (token, self.parameters[name]))
            return
        value = self.mod.values.get(name)
        if value is None or not value.plain or self._constant:
            return
        alike = sorted(
            other.name
            for other in self.mod.values.values()
            if other.plain and other.width == value.width and other.name != name and other.name not in self.clocks
        )
        after = [other for other in alike if other > name] + [other for other in alike if other < name]
        for other in after[:2]:
            yield from self.edit("signal", "another signal of the same width", (token, other))

    def visit_ElementSelectExpression(self, node: Any) -> Iterator[Mutation]:
        yield from self.node(node.left)
        yield from self.selectors(node)

    def selectors(self, node: Any) -> Iterator[Mutation]:
        """Of this name; what stands in an index has its own."""
        own = (node, getattr(node, "selectors", None))
        for select in (one for one in below(node) if kind(one) == "ElementSelect" and one.parent in own):
            inner = select.selector
            if inner is None:
                continue
            if kind(inner) == "BitSelect":
                yield from self.index(inner.expr)
            elif kind(inner) == "SimpleRangeSelect":
                yield from self.bounds(inner)
            else:
                yield from self.index(inner.left)

    def index(self, node: Any) -> Iterator[Mutation]:
        text = self.text(node)
        if not kind(node).endswith("LiteralExpression"):
            yield from self.edit("select", "index off by one", (node, f"({text}) + 1"))
        before, self._select = self._select, True
        yield from self.node(node)
        self._select = before

    def bounds(self, node: Any) -> Iterator[Mutation]:
        left, right = self.text(node.left), self.text(node.right)
        for sign in "-+":
            yield from self.edit(
                "select", "part select moved by one", (node.left, f"({left}){sign}1"), (node.right, f"({right}){sign}1")
            )
        yield from self.edit("select", "part select one bit less", (node.left, f"({left})-1"))

    # Expressions

    def visit_ConcatenationExpression(self, node: Any) -> Iterator[Mutation]:
        parts = [child for child in node.expressions if is_node(child)]
        texts = [self.text(part) for part in parts]
        if len(parts) > 1 and texts != texts[::-1] and all(texts):
            changes = list(zip(parts, texts[::-1], strict=True))
            yield from self.edit("order", "concatenation reversed", *changes)
        yield from self.inside(node)

    def visit_MultipleConcatenationExpression(self, node: Any) -> Iterator[Mutation]:
        yield from self.node(node.concatenation)  # how often is a width

    def visit_ConditionalExpression(self, node: Any) -> Iterator[Mutation]:
        left, right = self.text(node.left), self.text(node.right)
        if left != right:
            yield from self.edit("branch", "arms of ?: swapped", (node.left, f"({right})"), (node.right, f"({left})"))
            yield from self.edit("branch", "first arm of ?: always", (node.predicate, "1'b1"))
            yield from self.edit("branch", "second arm of ?: always", (node.predicate, "1'b0"))
        yield from self.inside(node)

    def visit_InvocationExpression(self, node: Any) -> Iterator[Mutation]:
        called = self.text(node.left)
        if called == "$signed":
            yield from self.edit("sign", "$signed becomes $unsigned", (node.left, "$unsigned"))
        if called.startswith("$") and called not in ("$signed", "$unsigned", "$clog2"):
            return
        yield from self.inside(node)

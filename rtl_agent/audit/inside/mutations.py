"""Every small mistake that could have been made at each place of a design, on its syntax tree.

Expressions are in expressions.py; here are statements, clocks and resets, and declarations.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from expressions import OPERATORS, Expressions, Mutation
from tree import Design, below, identifiers, is_node, kind, tokens

MOST = 6000  # candidates of one design; more are not told
ASSIGNMENTS = ("AssignmentExpression", "NonblockingAssignmentExpression")
RESETS = re.compile(r"(^|_)a?(rst|reset|clr|clear|init)|(rst|reset)n?$|^(n|i)?(rst|reset)", re.IGNORECASE)


def mutations(design: Design, parameters: Sequence[str]) -> list[Mutation]:
    """All candidates, in the order of the text. `parameters` are those that the harness sets."""
    found: list[Mutation] = []
    seen: set[str] = set()
    for module in design.modules:
        for one in Walk(design, module, parameters).module():
            key = f"{one['file']} {one['edits']}"
            if key not in seen:
                seen.add(key)
                found.append(one)
    found.sort(key=lambda one: (one["file"], one["edits"][0][0], one["operator"]))
    return found[:MOST]


class Walk(Expressions):
    """Through one module, in the order of its text."""

    def module(self) -> Iterator[Mutation]:
        for node in below(self.mod.syntax):
            if kind(node) == "SignalEventExpression":
                self.clocks |= identifiers(node)
            elif kind(node) == "IdentifierSelectName":
                self.selected.add(node.identifier.valueText)
        header = self.mod.syntax.header
        if getattr(header, "parameters", None) is not None:
            yield from self.parameter_defaults(header.parameters)
        for member in self.mod.syntax.members:
            yield from self.node(member)

    # Statements

    def visit_ExpressionStatement(self, node: Any) -> Iterator[Mutation]:
        if kind(node.expr) in ASSIGNMENTS or kind(node.expr) in OPERATORS:
            group = "reset" if self._reset else "assignment"
            yield from self.edit(group, "assignment dropped", (node, ";"))
        yield from self.inside(node)

    def visit_AssignmentExpression(self, node: Any) -> Iterator[Mutation]:
        yield from self.assignment(node)

    def visit_NonblockingAssignmentExpression(self, node: Any) -> Iterator[Mutation]:
        yield from self.assignment(node)

    def assignment(self, node: Any) -> Iterator[Mutation]:
        for child in below(node.left):  # its selects, not its name
            if kind(child) in ("IdentifierSelectName", "ElementSelectExpression"):
                yield from self.selectors(child)
        if kind(node.left) == "ConcatenationExpression":
            yield from (one for one in self.visit_ConcatenationExpression(node.left) if one["group"] == "order")
        if "Literal" not in kind(node.right) and "IntegerVector" not in kind(node.right):
            for value in ("'0", "'1"):
                yield from self.edit("stuck", f"stuck at {value[1]}", (node.right, value))
        yield from self.node(node.right)

    def visit_ConditionalStatement(self, node: Any) -> Iterator[Mutation]:
        yield from self.branch(node, is_reset=self.design.place(node) in self._resets)

    def branch(self, node: Any, *, is_reset: bool) -> Iterator[Mutation]:
        condition = self.text(node.predicate)
        if condition:
            group = "reset" if is_reset else "branch"
            yield from self.edit(group, "condition negated", (node.predicate, f"!({condition})"))
            yield from self.edit(group, "condition always false", (node.predicate, "1'b0"))
            if not is_reset:
                yield from self.edit(group, "condition always true", (node.predicate, "1'b1"))
        if node.elseClause is not None and not is_reset:
            yield from self.edit("branch", "else dropped", (node.elseClause, ""))
        yield from self.node(node.predicate)
        before, self._reset = self._reset, self._reset or is_reset
        yield from self.node(node.statement)
        self._reset = before
        if node.elseClause is not None:
            yield from self.node(node.elseClause)

    def visit_CaseStatement(self, node: Any) -> Iterator[Mutation]:
        items = [item for item in node.items if is_node(item)]
        standard = [item for item in items if kind(item) == "StandardCaseItem"]
        for item in standard:
            yield from self.edit("case", "case item dropped", (item, ""))
        for first, second in pairwise(standard):
            texts = self.text(first.clause), self.text(second.clause)
            if texts[0] != texts[1] and all(texts):
                yield from self.edit(
                    "case", "bodies of case items swapped", (first.clause, texts[1]), (second.clause, texts[0])
                )
        for item in items:
            if kind(item) == "DefaultCaseItem" and self.text(item.clause) != ";":
                yield from self.edit("case", "default dropped", (item.clause, ";"))
        yield from self.inside(node)

    def visit_ForLoopStatement(self, node: Any) -> Iterator[Mutation]:
        """A loop whose step is wrong may not end: of its head only the bound is changed."""
        if kind(node.stopExpr) in OPERATORS:
            yield from (one for one in self.binary(node.stopExpr, kind(node.stopExpr)) if "=" in one["operator"])
        yield from self.node(node.statement)

    def visit_LoopGenerate(self, node: Any) -> Iterator[Mutation]:
        yield from self.node(node.block)

    def visit_ProceduralBlock(self, node: Any) -> Iterator[Mutation]:
        statement = node.statement
        if kind(statement) == "TimingControlStatement":
            yield from self.clocked(statement)
        else:
            yield from self.node(statement)

    visit_AlwaysBlock = visit_AlwaysFFBlock = visit_AlwaysCombBlock = visit_AlwaysLatchBlock = visit_ProceduralBlock

    def clocked(self, node: Any) -> Iterator[Mutation]:
        events = [one for one in below(node.timingControl) if kind(one) == "SignalEventExpression"]
        edged = [one for one in events if self.edge_of(one)]
        body = node.statement
        first = body
        while kind(first) == "SequentialBlockStatement":
            items = [item for item in first.items if is_node(item)]
            branches = [item for item in items if kind(item) == "ConditionalStatement"]
            first = branches[0] if branches else None
            if first is None:
                break
        asked = identifiers(first.predicate) if first is not None and kind(first) == "ConditionalStatement" else set()
        names = {id(one): next(iter(identifiers(one)), "") for one in edged}
        resets = [one for one in edged if names[id(one)] in asked and len(edged) > 1]
        clocks = [one for one in edged if one not in resets]
        for one in clocks:
            other = "negedge" if self.edge_of(one) == "posedge" else "posedge"
            yield from self.edit("clock", "other clock edge", (one.edge, other))
        by_name = len(asked) == 1 and any(RESETS.search(name) for name in asked)
        is_reset = bool(edged) and bool(asked) and (bool(resets) or by_name)
        if is_reset:
            yield from self.reset_kind(node, first, edged, resets, asked)
        if edged:
            yield from self.blocking(body)
        if is_reset:
            self._resets.add(self.design.place(first))
        yield from self.node(body)

    def edge_of(self, event: Any) -> str:
        text = event.edge.rawText if event.edge is not None else ""
        return text if text in ("posedge", "negedge") else ""

    def reset_kind(
        self, node: Any, branch: Any, edged: Sequence[Any], resets: Sequence[Any], asked: set[str]
    ) -> Iterator[Mutation]:
        condition = self.text(branch.predicate)
        if resets and condition:
            event = resets[0]
            other = "negedge" if self.edge_of(event) == "posedge" else "posedge"
            yield from self.edit("reset", "reset polarity", (event.edge, other), (branch.predicate, f"!({condition})"))
            kept = " or ".join(self.text(one) for one in edged if one is not event)
            yield from self.edit("reset", "asynchronous reset made synchronous", (node.timingControl, f"@({kept})"))
        elif len(asked) == 1 and len(edged) == 1:
            (name,) = asked
            low = kind(branch.predicate.conditions[0].expr) in (
                "UnaryLogicalNotExpression",
                "UnaryBitwiseNotExpression",
            )
            event = f"{self.text(edged[0])} or {'negedge' if low else 'posedge'} {name}"
            yield from self.edit("reset", "synchronous reset made asynchronous", (node.timingControl, f"@({event})"))

    def blocking(self, body: Any) -> Iterator[Mutation]:
        """`=` for `<=` where the same block reads the name later on, and nothing else does: what another block reads
        would depend on the order in which a simulator runs them, which no test can hold against a design."""
        assigned = [one for one in below(body) if kind(one) == "NonblockingAssignmentExpression"]
        elsewhere = self.names_outside(body)
        for one in assigned:
            names, place = identifiers(one.left), self.design.place(one)
            if place is None or len(names) != 1 or names & elsewhere:
                continue
            (name,) = names
            later = [
                token
                for node in below(body)
                if kind(node) in ("NonblockingAssignmentExpression", "ConditionalPredicate", "CaseStatement")
                for token in tokens(node.right if hasattr(node, "right") else getattr(node, "expr", node))
                if token.valueText == name and token.location.offset > place[2]
            ]
            if later:
                yield from self.edit("blocking", "non-blocking made blocking", (one.operatorToken, "="))

    def names_outside(self, body: Any) -> set[str]:
        """What the other members of the module name, but for declarations of signals."""
        found: set[str] = set()
        inside = self.design.place(body)
        for member in self.mod.syntax.members:
            place = self.design.place(member)
            own = inside is not None and place is not None and place[1] <= inside[1] and inside[2] <= place[2]
            if not own and kind(member) not in ("DataDeclaration", "NetDeclaration", "PortDeclaration"):
                found |= identifiers(member)
        return found

    # Declarations

    def visit_DataDeclaration(self, node: Any) -> Iterator[Mutation]:
        yield from self.declaration(node)

    def visit_NetDeclaration(self, node: Any) -> Iterator[Mutation]:
        yield from self.declaration(node)

    def declaration(self, node: Any) -> Iterator[Mutation]:
        ports = {port["name"] for port in self.mod.ports}
        names = {declarator.name.valueText for declarator in node.declarators if is_node(declarator)}
        if not names & ports:
            for dimension in below(node.type):
                if kind(dimension) == "SimpleRangeSelect":
                    left, right = self.text(dimension.left), self.text(dimension.right)
                    yield from self.edit("width", "one bit less", (dimension.left, f"({left})-1"))
                    if names & self.selected:
                        turned = (dimension.left, right), (dimension.right, left)
                        yield from self.edit("order", "bits declared in reverse", *turned)
            for token in tokens(node.type):
                if token.valueText == "signed":
                    yield from self.edit("sign", "signed dropped", (token, ""))
        for declarator in node.declarators:
            if is_node(declarator) and declarator.initializer is not None:
                yield from self.node(declarator.initializer)

    def visit_ParameterDeclarationStatement(self, node: Any) -> Iterator[Mutation]:
        local = any(token.valueText == "localparam" for token in tokens(node))
        yield from self.inside_constant(node) if local else self.parameter_defaults(node)

    def inside_constant(self, node: Any) -> Iterator[Mutation]:
        before, self._constant = self._constant, True
        for part in below(node):
            if kind(part) == "EqualsValueClause":
                yield from self.node(part.expr)
        self._constant = before

    def parameter_defaults(self, node: Any) -> Iterator[Mutation]:
        for declarator in below(node):
            if kind(declarator) == "Declarator" and declarator.initializer is not None:
                for one in self.node(declarator.initializer.expr):
                    if one["group"] == "constant":
                        yield {**one, "group": "parameter", "operator": "parameter's default off by one"}

    def visit_HierarchyInstantiation(self, node: Any) -> Iterator[Mutation]:
        yield from self.inside(node)

    def visit_NamedType(self, node: Any) -> Iterator[Mutation]:
        yield from ()

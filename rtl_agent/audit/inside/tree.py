"""A design as slang elaborates it: its modules' syntax, what every name in them is, and where each piece stands."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

sys.path.insert(0, "/code")

import worker
from pyslang import ast as slang
from pyslang import syntax

VALUES = ("Variable", "Net")


@dataclass(frozen=True)
class Value:
    """A signal of a module: bits, sign, and whether it is a plain vector."""

    name: str
    kind: str
    width: int
    signed: bool
    plain: bool


@dataclass
class Module:
    """A module that was elaborated, in a file that may be changed."""

    name: str
    file: str
    syntax: Any
    body: Any
    is_top: bool  # a top of the harness; where none is judged, what no other judged module has below it
    values: dict[str, Value] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)  # overridable -> the default's value
    ports: list[dict[str, Any]] = field(default_factory=list)
    internal: list[str] = field(default_factory=list)


class Design:
    """All files parsed and elaborated; only `targets` are changed."""

    def __init__(self, files: Mapping[str, str], tops: Sequence[str], targets: Sequence[str]) -> None:
        self.bytes = {path: text.encode("utf-8", "replace") for path, text in files.items()}
        self.manager, self.trees = worker.parse(files)
        self.compilation = compiled(self.trees, tops)
        self.widths: dict[tuple[str, int, int], int] = {}  # of expressions, by place
        self.modules = list(self._modules(set(targets)))

    def _modules(self, targets: set[str]) -> Iterator[Module]:
        root = self.compilation.getRoot()
        top_names = {instance.name for instance in root.topInstances}
        seen: dict[tuple[str, int], Module] = {}

        def look(node: Any) -> None:
            if isinstance(node, slang.Expression):
                place = self._range(node.sourceRange)
                if place is not None:
                    self.widths[place] = int(node.type.bitWidth)
            elif worker.kind_of(node) == "InstanceBody":
                found = self._module(node, top_names)
                if found is not None and found.file in targets:
                    seen.setdefault((found.file, found.syntax.sourceRange.start.offset), found)

        root.visit(look)
        if not any(module.is_top for module in seen.values()):  # what is judged is below a top that is given
            below_others = {
                node.type.valueText
                for module in seen.values()
                for node in below(module.syntax)
                if kind(node) == "HierarchyInstantiation"
            }
            for module in seen.values():
                module.is_top = module.name not in below_others
        yield from seen.values()

    def _module(self, body: Any, top_names: set[str]) -> Module | None:
        node = body.syntax
        if node is None or worker.kind_of(node) != "ModuleDeclaration":
            return None
        place = self.place(node)
        if place is None:
            return None
        module = Module(body.name, place[0], node, body, body.name in top_names)
        read = worker.read_module(body)
        module.ports, module.internal = read["ports"], read["internal"]
        for name, about in read["parameters"].items():
            if not about["local"] and about["value"] is not None:
                module.parameters[name] = about["value"]
        for member in body:
            if worker.kind_of(member) in VALUES:
                type_ = member.type
                plain = bool(type_.isIntegral) and not type_.isUnpackedArray
                width = int(type_.bitWidth)
                value = Value(member.name, worker.kind_of(member), width, bool(type_.isSigned), plain)
                module.values[member.name] = value
        return module

    def place(self, node: Any) -> tuple[str, int, int] | None:
        """(file, start, end) in bytes; None for what a macro or an included file wrote."""
        return self._range(node.sourceRange)

    def token_place(self, token: Any) -> tuple[str, int, int] | None:
        if token.isMissing or self.manager.isMacroLoc(token.location):
            return None
        path = self.manager.getFileName(token.location)
        start = token.location.offset
        raw = token.rawText.encode("utf-8", "replace")
        if path not in self.bytes or self.bytes[path][start : start + len(raw)] != raw:
            return None
        return path, start, start + len(raw)

    def _range(self, found: Any) -> tuple[str, int, int] | None:
        start, end = found.start, found.end
        if start.buffer != end.buffer or self.manager.isMacroLoc(start) or self.manager.isMacroLoc(end):
            return None
        path = self.manager.getFileName(start)
        if path not in self.bytes or not 0 <= start.offset < end.offset <= len(self.bytes[path]):
            return None
        return path, start.offset, end.offset

    def text(self, node: Any) -> str | None:
        place = self.place(node)
        return None if place is None else self.bytes[place[0]][place[1] : place[2]].decode("utf-8", "replace")

    def width(self, node: Any) -> int:
        """Bits of an expression; 0 where slang did not come by it."""
        place = self.place(node)
        return 0 if place is None else self.widths.get(place, 0)

    def line(self, file: str, offset: int) -> int:
        return self.bytes[file].count(b"\n", 0, offset) + 1


def compiled(trees: Sequence[Any], tops: Sequence[str]) -> Any:
    options = slang.CompilationOptions()
    flags = slang.CompilationFlags
    options.flags = flags.AllowTopLevelIfacePorts | flags.AllowInvalidTop | flags.AllowHierarchicalConst
    if tops:
        options.topModules = set(tops)
    compilation = slang.Compilation(worker.pyslang.Bag([options]))
    for tree in trees:
        compilation.addSyntaxTree(tree)
    return compilation


def errors(files: Mapping[str, str], tops: Sequence[str]) -> list[str]:
    """What slang takes for an error, by its code; drivers that conflict are one for a simulator, too."""
    manager, trees = worker.parse(files)
    found = worker.read_diagnostics(manager, compiled(trees, tops))
    return sorted(item["code"] for item in found if item["severity"] in ("error", "fatal"))


def is_node(thing: Any) -> bool:
    return isinstance(thing, syntax.SyntaxNode)


def children(node: Any) -> Iterator[Any]:
    """Nodes and tokens, none that is not there."""
    for child in node:
        if child is not None and (is_node(child) or not child.isMissing):
            yield child


def kind(node: Any) -> str:
    return worker.kind_of(node)


def below(node: Any) -> Iterator[Any]:
    """The node and all nodes below it."""
    yield node
    for child in children(node):
        if is_node(child):
            yield from below(child)


def tokens(node: Any) -> Iterator[Any]:
    for child in children(node):
        if is_node(child):
            yield from tokens(child)
        else:
            yield child


def identifiers(node: Any) -> set[str]:
    return {token.valueText for token in tokens(node) if str(token.kind).endswith(".Identifier")}

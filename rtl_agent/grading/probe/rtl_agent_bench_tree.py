"""What slang says of a Verilog bench: where it instantiates the design, with which ports and parameters.

The bench and the reference are a problem set's own files. Nothing here ever reads a design that is judged.
"""

from dataclasses import dataclass

import pyslang
from pyslang import ast as slang
from pyslang import syntax

_DUMPS = ("$dumpfile", "$dumpvars", "$dumpon", "$dumpoff", "$dumpall", "$dumpflush", "$dumplimit")
_SCALES = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15}


class Unsuitable(Exception):
    """A bench that cannot be run apart from the design, and why."""


@dataclass(frozen=True)
class Port:
    name: str
    is_input: bool
    width: int
    signed: bool
    connected: bool


@dataclass(frozen=True)
class Bench:
    """How a bench meets the design, and the texts that are compiled for it."""

    module: str  # of the design
    ports: tuple[Port, ...]
    given: tuple[tuple[str, str], ...]  # parameters that the bench sets, and their values
    parameters_by_order: bool
    by_order: bool  # ports are connected by their order
    precision: str  # the finest time that the bench tells apart: 1ps
    texts: tuple[str, ...]  # of the bench, without the commands that dump waves
    reference: str  # its top module renamed
    reference_module: str
    tops: tuple[str, ...]  # of the bench
    edges: frozenset[str]  # names that the reference waits for an edge of

    @property
    def inputs(self):
        """Clocks and the like first: what depends on them by an edge has to be woken before what else changes in the
        same moment has spread, as it is where a bench changes inputs because of that edge."""
        found = [port for port in self.ports if port.is_input and port.connected]
        return sorted(found, key=lambda port: port.name not in self.edges)

    @property
    def outputs(self):
        return [port for port in self.ports if not port.is_input and port.connected]


def read(texts, reference, module, *, reference_module, top, defaults=""):
    """The bench of these texts.

    `reference_module` is its name in the reference's text, "" for a module named as the design is, or for the one
    that no other of the reference's modules has below it. `defaults` stands before every text: a time scale.
    """
    declared = _declared(reference)
    if not declared:
        raise Unsuitable("the reference declares no module")
    old = reference_module or (module if module in declared else _uppermost(reference, declared))
    if old not in declared:
        raise Unsuitable(f"the reference has no module {old}")
    own = f"rtl_agent_reference_{module}"
    bench = tuple(_without_dumps(text) for text in texts)
    compilation = _compiled([defaults + text for text in (*bench, _renamed(reference, old, module))], top)
    found = list(_instances(compilation, module))
    if len(found) != 1:
        raise Unsuitable(f"the bench has {len(found)} instances of {module}; one is needed")
    instance = found[0]
    ports = tuple(_ports(instance))
    if not any(not port.is_input and port.connected for port in ports):
        raise Unsuitable(f"the bench looks at no output of {module}")
    syntax_of = instance.syntax
    parent = syntax_of.parent
    return Bench(
        module=module,
        ports=ports,
        given=tuple(_given(parent, instance.body)),
        parameters_by_order=any(_kind(one) == "OrderedParamAssignment" for one in _settings(parent)),
        by_order=any(_kind(one) == "OrderedPortConnection" for one in syntax_of.connections),
        precision=_precision(compilation),
        texts=bench,
        reference=_renamed(reference, old, own),
        reference_module=own,
        edges=frozenset(_edges(reference)),
        tops=tuple(one.name for one in compilation.getRoot().topInstances if one.name != old),
    )


def _compiled(texts, top):
    options = slang.CompilationOptions()
    flags = slang.CompilationFlags
    options.flags = flags.AllowTopLevelIfacePorts | flags.AllowInvalidTop | flags.AllowHierarchicalConst
    options.flags |= flags.AllowUseBeforeDeclare
    if top:
        options.topModules = {top}
    bag = pyslang.Bag([options])
    compilation = slang.Compilation(bag)
    manager = pyslang.SourceManager()
    for at, text in enumerate(texts):
        buffer = manager.assignText(f"{at}.sv", text)
        compilation.addSyntaxTree(syntax.SyntaxTree.fromBuffer(buffer, manager, bag))
    _compiled.manager = manager  # it has to outlive the trees
    return compilation


def _tree(text):
    return syntax.SyntaxTree.fromText(text)


def _kind(node):
    return str(node.kind).rpartition(".")[2]


def _nodes(node):
    yield node
    for child in node:
        if child is not None and isinstance(child, syntax.SyntaxNode):
            yield from _nodes(child)


def _declared(text):
    """Module name -> the modules that it instantiates."""
    found = {}
    for node in _nodes(_tree(text).root):
        if _kind(node) == "ModuleDeclaration":
            below = {one.type.valueText for one in _nodes(node) if _kind(one) == "HierarchyInstantiation"}
            found[node.header.name.valueText] = below
    return found


def _edges(text):
    for node in _nodes(_tree(text).root):
        if _kind(node) == "SignalEventExpression" and node.edge.valueText in ("posedge", "negedge"):
            yield str(node.expr).strip()


def _uppermost(text, declared):
    below = set().union(*declared.values())
    above = [name for name in declared if name not in below] or list(declared)
    return above[-1]


def _renamed(text, old, new):
    """The text with another name for one module, where it is declared and wherever it is instantiated."""
    places = []
    for node in _nodes(_tree(text).root):
        if _kind(node) == "ModuleDeclaration":
            tokens = [node.header.name, *([node.blockName.name] if node.blockName is not None else [])]
        elif _kind(node) == "HierarchyInstantiation":
            tokens = [node.type]
        else:
            continue
        places += [(one.location.offset, one.rawText) for one in tokens if one.valueText == old]
    return _edited(text, [(start, start + len(raw.encode()), new) for start, raw in places])


def _without_dumps(text):
    """Icarus 13 refuses nets that are used before they are declared, as the arguments of $dumpvars are; nor is anybody
    to look at these waves."""
    found = []
    for node in _nodes(_tree(text).root):
        if _kind(node) == "ExpressionStatement" and _kind(node.expr) in ("InvocationExpression", "SystemName"):
            name = node.expr.left if _kind(node.expr) == "InvocationExpression" else node.expr
            if str(name).strip() in _DUMPS:
                found.append((node.sourceRange.start.offset, node.sourceRange.end.offset, ";"))
    return _edited(text, found)


def _edited(text, edits):
    data = text.encode()
    for start, end, new in sorted(edits, reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def _instances(compilation, module):
    found = []

    def look(node):
        if _kind(node) == "Instance" and node.definition.name == module:
            found.append(node)

    compilation.getRoot().visit(look)
    return found


def _ports(instance):
    connections = {one.port.name: one for one in instance.portConnections}
    for port in instance.body.portList:
        direction = str(getattr(port, "direction", "")).rpartition(".")[2]
        type_ = getattr(port, "type", None)
        if direction not in ("In", "Out"):
            raise Unsuitable(f"port {port.name} of the design is neither an input nor an output")
        if type_.isUnpackedArray or not type_.isIntegral or not 0 < int(type_.bitWidth) <= 1 << 16:
            raise Unsuitable(f"port {port.name} of the design is no vector of bits")
        connection = connections.get(port.name)
        connected = connection is not None and connection.expression is not None
        yield Port(port.name, direction == "In", int(type_.bitWidth), bool(type_.isSigned), connected)


def _given(instantiation, body):
    """Parameters that the bench sets, with the values that they come to."""
    values = {one.name: str(one.value) for one in body.parameters if getattr(one, "value", None) is not None}
    names = [one.name for one in body.parameters if not getattr(one, "isLocalParam", False)]
    for at, one in enumerate(_settings(instantiation)):
        name = one.name.valueText if _kind(one) == "NamedParamAssignment" else names[at]
        if name not in values:
            raise Unsuitable(f"the bench sets {name} of the design, which is no number")
        yield name, values[name]


def _settings(instantiation):
    """What stands between the brackets of #( ), without the commas."""
    if instantiation.parameters is None:
        return []
    found = instantiation.parameters.parameters
    return [one for one in found if _kind(one) in ("NamedParamAssignment", "OrderedParamAssignment")]


def _precision(compilation):
    """The finest precision of any module, as Verilog writes it."""
    finest = "1s"
    found = []
    compilation.getRoot().visit(lambda node: found.append(node) if _kind(node) == "InstanceBody" else None)
    for body in found:
        scale = body.timeScale
        if scale is not None:
            finest = max(finest, str(scale).partition("/")[2].strip().replace(" ", ""), key=_exponent)
    return finest if found else "1ns"


def _exponent(scale):
    """1ns -> 9.0, 100ps -> 10.0."""
    digits = scale.rstrip("munpfs")
    return _SCALES[scale[len(digits) :]] - (len(digits) - 1)

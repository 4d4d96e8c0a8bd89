"""Designs that are made of another one: its names changed, an output stuck, nothing but its interface left."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from tree import Design, Module, below, children, identifiers, is_node, kind

Edit = list[Any]
VALUE = "@VALUE@"
KEPT_WHEN_GUTTED = {
    "ParameterDeclarationStatement", "PortDeclaration", "TypedefDeclaration", "PackageImportDeclaration",
    "FunctionDeclaration",
}  # fmt: skip
CLOCKS = ("clk", "clock")
TIMING = (*CLOCKS, "rst", "reset")
FOLLOWING = ("inputs", "clock")  # ways of driving outputs that are no constants


def renamed(design: Design, kept: Collection[str]) -> tuple[list[tuple[str, Edit]], list[str]]:
    """Edits that give every name inside of a module another one, but for ports and those that are to be kept."""
    edits: list[tuple[str, Edit]] = []
    names: list[str] = []
    for module in design.modules:
        fixed = {port["name"] for port in module.ports} | set(module.parameters) | set(kept)
        fixed |= {other.name for other in design.modules}
        chosen = {name: f"renamed_{name}" for name in module.internal if name.isidentifier() and name not in fixed}
        found = list(rename_in(design, module.syntax, chosen))
        done = {design.bytes[file][start:end].decode() for file, (start, end, _) in found}
        names += sorted(done)
        edits += found
    return edits, names


def rename_in(design: Design, node: Any, names: dict[str, str]) -> Iterator[tuple[str, Edit]]:
    """Every use of the names; those after a dot are names of something else."""
    name = kind(node)
    if name in ("NamedPortConnection", "NamedArgument", "NamedParamAssignment"):
        expression = getattr(node, "expr", None)
        if expression is not None:
            yield from rename_in(design, expression, names)
        elif name == "NamedPortConnection" and node.openParen.isMissing and node.name.valueText in names:
            place = design.token_place(node.name)  # `.clk` connects a signal of that name
            if place is not None:
                yield place[0], [place[1], place[2], f"{node.name.valueText}({names[node.name.valueText]})"]
        return
    if name in ("ScopedName", "MemberAccessExpression"):
        yield from rename_in(design, node.left, names)
        for part in below(node.right) if name == "ScopedName" else ():  # a[i].b[j]: names are what indexes have
            if kind(part) == "ElementSelect":
                yield from rename_in(design, part, names)
        return
    for child in children(node):
        if is_node(child):
            yield from rename_in(design, child, names)
        elif str(child.kind).endswith(".Identifier") and child.valueText in names:
            place = design.token_place(child)
            if place is not None:
                yield place[0], [place[1], place[2], names[child.valueText]]


def stuck(design: Design) -> Iterator[dict[str, Any]]:
    """For each output of a top module the edits that leave it at VALUE, while the design inside goes on with what it
    would have been."""
    for module in (one for one in design.modules if one.is_top):
        for port in module.ports:
            if port["direction"] != "output" or port["dims"]:
                continue
            edits = _stuck(design, module, port["name"])
            if edits:
                yield {"module": module.name, "output": port["name"], "file": module.file, "edits": edits}


def _stuck(design: Design, module: Module, name: str) -> list[Edit]:
    """Inside, the output has another name; the port itself is driven by nothing else than the value."""
    inside = f"{name}__driven"
    declared = _declaration(design, module, name)
    value = module.values.get(name)
    if declared is None or value is None:
        return []
    type_text, dimensions, initial, at = declared
    keyword = _variable(type_text) if value.kind == "Variable" else _net(type_text)
    drive = f"initial {name} = {VALUE};" if value.kind == "Variable" else f"assign {name} = {VALUE};"
    edits: list[Edit] = [[at, at, f" {keyword} {inside}{dimensions}{initial}; {drive}"]]
    for member in module.syntax.members:
        if kind(member) == "PortDeclaration" or _declares(member, name):
            continue
        edits += [edit for file, edit in rename_in(design, member, {name: inside}) if file == module.file]
    return sorted(edits)


def _declares(member: Any, name: str) -> bool:
    if kind(member) not in ("DataDeclaration", "NetDeclaration"):
        return False
    return any(is_node(one) and one.name.valueText == name for one in member.declarators)


def _declaration(design: Design, module: Module, name: str) -> tuple[str, str, str, int] | None:
    """(type, dimensions, initial value, where to go on) of an output, as it was written."""
    header = module.syntax.header
    type_text = previous = ""
    for port in below(header):
        if kind(port) != "ImplicitAnsiPort":
            continue
        said = port.header
        if said.dataType is not None and (design.text(said) or "").strip():
            type_text = design.text(said.dataType) or ""
            previous = type_text
        else:
            type_text = previous  # a name alone goes on with the type before
        if port.declarator.name.valueText == name:
            place = design.token_place(header.semi)
            own = port.declarator
            return None if place is None else (type_text, "", _initial(design, own), place[2])
    for member in module.syntax.members:
        if kind(member) == "PortDeclaration":
            for declarator in (one for one in member.declarators if is_node(one)):
                place = design.place(member)
                if declarator.name.valueText == name and place is not None:
                    text = design.text(member.header.dataType) or ""
                    return text, "", _initial(design, declarator), place[2]
    return None


def _initial(design: Design, declarator: Any) -> str:
    return f" {design.text(declarator.initializer)}" if declarator.initializer is not None else ""


def _variable(type_text: str) -> str:
    words = type_text.split()
    implicit = not words or words[0].startswith("[") or words[0] in ("signed", "unsigned")
    return f"logic {type_text}" if implicit else type_text


def _net(type_text: str) -> str:
    words = type_text.split()
    implicit = not words or words[0].startswith("[") or words[0] in ("signed", "unsigned", "logic")
    return f"wire {type_text}" if implicit else type_text


def gutted(design: Design, how: str, touched: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Files whose top modules have their ports, and outputs that tell nothing: `ports`, '0, '1, 'x, `inputs`,
    or `clock`; no files where there is no clock to follow.

    `touched` are names by module that tests look for, with their widths: those that are no ports are signals inside,
    driven like outputs.
    """
    edits: dict[str, list[Edit]] = {}
    for module in (one for one in design.modules if one.is_top):
        if how == "clock" and _clock(module) is None:
            return {}
        ports = {port["name"] for port in module.ports}
        taken = ports | set(module.parameters)
        place = None
        for member in module.syntax.members:
            where = design.place(member)
            if where is None:
                continue
            place = where
            if kind(member) in KEPT_WHEN_GUTTED:
                taken |= identifiers(member)
                continue
            kept = _redeclared(design, member, ports)
            edits.setdefault(module.file, []).append([where[1], where[2], kept])
        end = design.token_place(module.syntax.endmodule)
        if end is None or (place is None and module.syntax.members is None):
            return {}
        inside = {name: width for name, width in touched.get(module.name, {}).items() if name not in taken}
        lines = "".join((*_drives(module, how), *_signals(module, how, inside)))
        edits.setdefault(module.file, []).append([end[1], end[1], f"\n{lines}"])
    return {file: apply(design.bytes[file], found) for file, found in edits.items()}


def _redeclared(design: Design, member: Any, ports: Collection[str]) -> str:
    """`reg [3:0] y;` of a port that is declared apart stays, without its initial value."""
    if kind(member) not in ("DataDeclaration", "NetDeclaration"):
        return ""
    names = [one.name.valueText for one in member.declarators if is_node(one)]
    mine = [name for name in names if name in ports]
    if not mine:
        return ""
    type_text = design.text(member.type) or ""
    return f"{'wire ' if kind(member) == 'NetDeclaration' else ''}{type_text} {', '.join(mine)};"


def _drives(module: Module, how: str) -> Iterator[str]:
    for port in module.ports:
        if port["direction"] != "output" or port["dims"]:
            continue
        value = _value(module, how, port)
        if value is None:
            continue
        kept = module.values.get(port["name"])
        variable = kept is not None and kept.kind == "Variable"
        begin = ("always @* " if how in FOLLOWING else "initial ") if variable else "assign "
        yield f"  {begin}{port['name']} = {value};\n"


def _signals(module: Module, how: str, inside: Mapping[str, int]) -> Iterator[str]:
    """Names that tests look for inside, as wide as the design has them."""
    for name, width in inside.items():
        known = module.values.get(name)
        if known is not None and not known.plain:
            continue
        wide = known.width if known is not None else width
        value = _value(module, how, {"name": name, "width": wide})
        if value is not None:  # Icarus leaves out what nothing drives
            yield f"  wire {f'[{wide - 1}:0] ' if wide > 1 else ''}{name}; assign {name} = {value};\n"


def _value(module: Module, how: str, signal: Mapping[str, Any]) -> str | None:
    """What drives an output or a signal inside; None: nothing."""
    if how == "inputs":
        return _like(module.ports, signal)
    if how == "clock":
        clock = _clock(module)
        return None if clock is None else f"{{{signal['width']}{{{clock}}}}}"
    return None if how == "ports" else how


def _clock(module: Module) -> str | None:
    inputs = (port["name"] for port in module.ports if port["direction"] == "input" and not port["dims"])
    return next((name for name in inputs if any(word in name.lower() for word in CLOCKS)), None)


def _like(ports: Sequence[dict[str, Any]], output: Mapping[str, Any]) -> str | None:
    """The input that an output most looks like: by width, then by name; clocks and resets only for others of these."""
    inputs = [port for port in ports if port["direction"] == "input" and not port["dims"]]
    is_timing = _is_timing(output["name"])

    def key(port: dict[str, Any]) -> tuple[bool, bool, float]:
        alike = SequenceMatcher(None, port["name"], output["name"]).ratio()
        return _is_timing(port["name"]) != is_timing, port["width"] != output["width"], -alike

    return min(inputs, key=key)["name"] if inputs else None


def _is_timing(name: str) -> bool:
    return any(word in name.lower() for word in TIMING)


def apply(data: bytes, edits: Sequence[Edit]) -> str:
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode("utf-8", "replace")

"""Which branches of a design do two tools elaborate? Runs in a box, with pyslang at hand.

    python3 rtl_agent_branches.py TEXT TOP

TEXT is a preprocessed design. Icarus and Verilator compute some constants differently (1'b1 + 1'b1, 1 << 32, anything
with an x), so a `generate` can choose another branch for each, and what is linted is not what is simulated. slang
finds every branch, each gets a parameter of its own as a mark, and both tools are asked which marks are there.
Parameters that both have are compared too, and the widths of signals. Writes JSON: {"differences": [...]}, or
{"problem": ...}, which is empty where a tool cannot read the design without marks either.
"""

import json
import re
import subprocess
import sys

MARK = "rtl_agent_branch_"
_SCOPE = re.compile(r'^(S_\w+) \.scope (\w+)[\w.]*, "(.*?)" "(.*?)" \d+ \d+(?:, \d+ \d+ \d+, (S_\w+))?;')
_PARAMETER = re.compile(r'^P_\w+ \.param/\w+ "(.*?)" .*?, (\+?)C4<([01xz]*)>;')
_SIGNAL = re.compile(r'^v\w+ \.(?:net|var)(?:/(?!real)\w+)? "(.*?)", (-?\d+) (-?\d+)')
_ARRAY = re.compile(r'^(v\w+) \.array(?:/(?!real)\w+)? "(.*?)", (-?\d+) (-?\d+)(?:, (-?\d+) (-?\d+))?;')
_WORD = re.compile(r"^v\w+ \.net(?:/\w+)? (v\w+) 0, (-?\d+) (-?\d+)")  # the first of an array of nets
_CONSTANT = re.compile(r"(\d+)'(s?)h([0-9a-f]+)")
_RANGE = re.compile(r"\[?(-?\d+):(-?\d+)\]?")
_INTEGRAL = {"logic", "bit", "reg", "integer", "int", "byte", "shortint", "longint", "time"}
_NAMED_TYPES = ("REFDTYPE", "ENUMDTYPE", "MEMBERDTYPE", "CONSTDTYPE")
_QUIET = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "--timing")


def main(path, top):
    with open(path, "rb") as stream:
        text = stream.read()
    marked = marked_text(text)
    with open(f"{path}.marked.sv", "wb") as stream:
        stream.write(marked)
    made = []
    for name, elaborate in (("the simulator", icarus), ("the linter", verilator)):
        found = elaborate(f"{path}.marked.sv", top)
        made.append(found)
        if isinstance(found, str):
            # A tool that cannot read the design by itself either was told more by its harness.
            plain = elaborate(path, top)
            known = isinstance(plain, str)
            return {"problem": "" if known else f"{name} cannot read it with its branches marked: {found}"}
    return {"differences": differences(*made)}


def marked_text(text):
    """Every branch of a generate construct with a parameter of its own in it."""
    from pyslang import syntax

    edits = []
    kinds = syntax.SyntaxKind
    todo = [syntax.SyntaxTree.fromText(text.decode("latin-1").encode("ascii", "replace").decode()).root]
    while todo:
        node = todo.pop()
        branches = []
        if node.kind == kinds.IfGenerate:
            branches = [node.block, *([node.elseClause.clause] if node.elseClause else [])]
        elif node.kind == kinds.LoopGenerate:
            branches = [node.block]
        elif node.kind == kinds.CaseGenerate:
            branches = [item.clause for item in node.items]
        for branch in branches:
            edits += mark(branch, len(edits), kinds)
        todo += [node[i] for i in range(len(node)) if isinstance(node[i], syntax.SyntaxNode)]
    for offset, _, piece in sorted(edits, reverse=True):
        text = text[:offset] + piece.encode() + text[offset:]
    return text


def mark(branch, number, kinds):
    declared = f" localparam {MARK}{number} = 0; "
    if branch.kind in (kinds.IfGenerate, kinds.CaseGenerate, kinds.EmptyMember):
        return []  # a construct that stands directly in another one has branches of its own
    if branch.kind == kinds.GenerateBlock:
        last = branch.beginName.sourceRange.end if branch.beginName else branch.begin.range.end
        return [(last.offset, number, declared)]
    where = branch.sourceRange
    # Of two edits in one place the later number comes first in the text: an inner end before an outer one.
    return [(where.start.offset, -number, f" begin{declared}"), (where.end.offset, number, " end ")]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    said = [line for line in (done.stderr + done.stdout).splitlines() if "rror" in line]
    return None if done.returncode == 0 else (said or ["it ends with an error"])[0]


class Elaborated:
    """What a tool has made of the modules: by module, then by the path of blocks in it."""

    def __init__(self):
        self.marks = {}  # module -> (path, mark)
        self.values = {}  # (module, path, name) -> values, each the bits of a number
        self.widths = {}  # (module, path, name) -> widths, each (bits of a word, words)

    def add(self, module, path, name, value=None, width=None):
        self.marks.setdefault(module, set())
        if name.startswith(MARK):
            self.marks[module].add((path, name))
        elif value is not None:
            self.values.setdefault((module, path, name), set()).add(value)
        elif width is not None:
            self.widths.setdefault((module, path, name), set()).add(width)


def icarus(path, top):
    said = run("iverilog", "-g2012", *(("-s", top) if top else ()), "-o", f"{path}.vvp", path)
    if said:
        return said
    found, scopes, arrays, here = Elaborated(), {}, {}, None
    with open(f"{path}.vvp", errors="replace") as stream:
        for line in stream:
            if scope := _SCOPE.match(line):
                number, kind, name, type_, parent = scope.groups()
                module, above = scopes.get(parent, ("", ()))
                here = scopes[number] = (type_, ()) if kind == "module" else (module, (*above, name))
                if kind == "module":
                    found.marks.setdefault(type_, set())
            elif here and (parameter := _PARAMETER.match(line)):
                name, signed, bits = parameter.groups()
                found.add(*here, name, value=_bits(bits, signed))
            elif here and (signal := _SIGNAL.match(line)):
                name, left, right = signal.groups()
                found.add(*here, name, width=(_count(left, right), 1))
            elif here and (array := _ARRAY.match(line)):
                number, name, first, last, left, right = array.groups()
                words = _count(first, last)
                if left is None:
                    arrays[number] = (*here, name), words
                else:
                    found.add(*here, name, width=(_count(left, right), words))
            elif (word := _WORD.match(line)) and word.group(1) in arrays:
                where, words = arrays[word.group(1)]
                found.add(*where, width=(_count(*word.group(2, 3)), words))
    return found


def verilator(path, top):
    options = ("--top-module", top) if top else ()
    said = run("verilator", "--json-only", "--json-only-output", f"{path}.json", *_QUIET, *options, path)
    if said:
        return said
    with open(f"{path}.json") as stream:
        tree = json.load(stream)
    types = {one["addr"]: one for one in _all(tree) if str(one.get("type", "")).endswith("DTYPE")}
    found = Elaborated()
    for module in tree.get("modulesp", []):
        if module.get("type") == "MODULE":
            found.marks.setdefault(module["origName"], set())
            _gather(module, module["origName"], (), types, found)
    return found


def _gather(node, module, path, types, found):
    for child in (one for value in node.values() if isinstance(value, list) for one in value if isinstance(one, dict)):
        below = (*path, child["name"]) if child.get("type") in ("BEGIN", "GENBLOCK") and child.get("name") else path
        if child.get("type") == "VAR":
            value = _CONSTANT.fullmatch(child["valuep"][0].get("name", "")) if child.get("valuep") else None
            if child.get("isParam") and value:
                width, signed, digits = value.groups()
                found.add(module, path, child["name"], value=_bits(f"{int(digits, 16):0{width}b}", signed))
            elif child.get("isParam"):
                found.add(module, path, child["name"])
            else:
                found.add(module, path, child["name"], width=_shape(child, types))
        elif child.get("type") not in ("FUNC", "TASK"):
            _gather(child, module, below, types, found)


def _all(tree):
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            yield node
            todo += node.values()
        elif isinstance(node, list):
            todo += node


def _shape(node, types):
    """(bits of a word, words) of what has this type; None for a type that has no bits."""
    type_ = types.get(node.get("refDTypep", node.get("dtypep")), {})
    kind = type_.get("type")
    if kind == "BASICDTYPE":
        found = _RANGE.fullmatch(type_.get("range", "0:0"))
        return (_count(*found.groups()), 1) if found and type_.get("keyword") in _INTEGRAL else None
    if kind in _NAMED_TYPES:
        return _shape(type_, types)
    if kind in ("STRUCTDTYPE", "UNIONDTYPE"):
        members = [_shape(member, types) for member in type_.get("membersp", [])]
        if not type_.get("packed") or not members or None in members:
            return None
        widths = [width for width, _ in members]
        return (sum(widths) if kind == "STRUCTDTYPE" else max(widths), 1)
    below = _shape(type_, types) if kind in ("PACKARRAYDTYPE", "UNPACKARRAYDTYPE") else None
    found = _RANGE.fullmatch(type_.get("declRange", ""))
    if below is None or not found:
        return None
    (width, words), count = below, _count(*found.groups())
    return (width * count, words) if kind == "PACKARRAYDTYPE" else (width, words * count)


def _count(left, right):
    return abs(int(left) - int(right)) + 1


def _bits(bits, signed):
    return ("+" if signed else "") + bits


def _same(a, b):
    """The same number: the tools give an expression without a size other widths. With x, bits that both have."""
    a, b = a.lstrip("+"), b.lstrip("+")
    if not (a and b) or (a + b).strip("01"):
        shorter = min(len(a), len(b))
        return not shorter or a[-shorter:] == b[-shorter:]
    return bool(_numbers(a) & _numbers(b))


def _numbers(bits):
    """What these bits may stand for, without and with a sign."""
    number = int(bits, 2)
    return {number, number - (1 << len(bits))} if bits[0] == "1" else {number}


def differences(simulated, linted):
    said = []
    for module in sorted(simulated.marks.keys() & linted.marks.keys()):
        for path, name in sorted(simulated.marks[module] ^ linted.marks[module]):
            who = "the simulator" if (path, name) in simulated.marks[module] else "the linter"
            said.append(f"only {who} has the block {'.'.join(path)} of {module}")
    for what, ours, theirs in (
        ("parameter", simulated.values, linted.values),
        ("width of", simulated.widths, linted.widths),
    ):
        for key in sorted(ours.keys() & theirs.keys()):
            if not _agree(ours[key], theirs[key]):
                module, path, name = key
                said.append(f"the {what} {'.'.join((*path, name))} of {module} differs")
    return said[:20]


def _agree(ours, theirs):
    same = _same if all(isinstance(one, str) for one in (*ours, *theirs)) else lambda a, b: a == b
    return all(any(same(a, b) for b in theirs) for a in ours) and all(any(same(a, b) for a in ours) for b in theirs)


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)
    json.dump(main(*sys.argv[1:3]), sys.stdout)

"""Yosys' netlist -> Verilog that behaves towards cocotb's tests as the source of the design does.

* The top gets its parameters back, which tests read, and the source's time scale.
* Flip-flops look at their inputs when these have settled. A test may change an input in the very moment of the edge; a
  process of the source, which holds the logic before the flip-flop, sees it; in a netlist that logic comes later.
* Data inputs that no test drives yet are 0: `case` and `if` of the source take X for no, a netlist hands it on.
* Everything but ports and the names that tests look at is in a block of its own, and outputs are variables: some
  harnesses go over all nets of the top and set them to 0. Where tests look into an instance there is no such block.

`late` is the other timing that hardware may have: a clock that the design makes itself comes after the flip-flops of
the clock that it is made from, and without the spikes that last no time.
"""

import json
import re

_EDGE = re.compile(r"\s*always @\(((?:pos|neg)edge [^;]*)\)\s*$")
_SIGNAL = re.compile(r"(pos|neg)edge (\\\S+|[^\s,]+)")
_PORT = re.compile(r"  (input|output|inout) (?:signed )?(\[[^\]]*\] )?(\w+);$")
_DECLARED = re.compile(r"  (wire|reg) (?:signed )?(\[[^\]]*\] )?(\w+)( \[[^\]]*\])?( = [^;]*)?;$")
_INSTANCE = re.compile(r"  \S+ +(\w+) \($")
_OWN = "rtl_agent_of_"
PAIR, SOURCE = "rtl_agent_pair", "source"  # a root of its own, and the design as it was written in it


class Netlist:
    def __init__(self, text, module, top, looked_at):
        """`module` is what Yosys' JSON says of the top; an empty one where the top was not synthesised."""
        self._lines, self._top = text.splitlines(), top
        self._ports = {name: (port["direction"], len(port["bits"])) for name, port in module.get("ports", {}).items()}
        self._values = [f"  parameter {name} = {_literal(value)};" for name, value in _parameters(module)]
        self._inputs = {name for name, (direction, _) in self._ports.items() if direction == "input"}
        outputs = {name for name, (direction, _) in self._ports.items() if direction == "output"}
        self._seen = outputs | (set(looked_at) - set(self._ports))

    def simulated(self, scale, *, late):
        lines = [scale] if scale else []
        start = next((i for i, line in enumerate(self._lines) if line.startswith(f"module {self._top}(")), None)
        if start is None:
            return "\n".join([*lines, *self._timed(self._lines, late)]) + "\n"
        end = self._lines.index("endmodule", start)
        lines += self._timed(self._lines[:start], late)
        lines += [self._lines[start], *self._values, *self._body(self._lines[start + 1 : end], late)]
        return "\n".join([*lines, *self._timed(self._lines[end:], late)]) + "\n"

    def _body(self, lines, late):
        declared = {found.group(3): found for found in map(_DECLARED.match, lines) if found}
        hoisted = {name for name in self._seen if name in declared and declared[name].group(1) == "wire"}
        data = self._data_inputs(lines, late)
        head, block = [], []
        for line in lines:
            port, declaration = _PORT.match(line), _DECLARED.match(line)
            if port:
                kind, width, name = port.groups()
                head.append(f"  {kind} logic {width or ''}{name};" if name in hoisted else line)
            elif declaration and declaration.group(3) in hoisted:
                _, width, name, _, _ = declaration.groups()
                head += [] if name in self._ports else [f"  logic {width or ''}{name};"]
                block += [f"  wire {width or ''}{_OWN}{name};", f"  assign {name} = {_OWN}{name};"]
            elif declaration and declaration.group(3) in self._seen | set(self._ports):
                head.append(line)
                block += _without_x(declaration) if declaration.group(3) in data else []
            else:
                block.append(line)
        inside = list(self._timed([self._renamed(line, hoisted | data) for line in block], late))
        if {found.group(1) for found in map(_INSTANCE.match, lines) if found} & self._seen:
            return [*head, *inside]
        return [*head, "  if (1) begin : rtl_agent_netlist", *inside, "  end"]

    def _data_inputs(self, lines, late):
        """Inputs that may be taken for 0. One bit may be a clock further inside; where all is flat, that shows."""
        edges = [found.group(1) for found in map(_EDGE.match, lines) if found]
        clocks = {name for found in edges for _, name in _SIGNAL.findall(found)}
        return {name for name in self._inputs - clocks if late or self._ports[name][1] > 1}

    def _renamed(self, line, names):
        if not names or not line.startswith(("  assign ", "    ", "  always ")) or _OWN in line:
            return line
        return re.sub(rf"(?<![\\.'\w$])(?:{'|'.join(names)})(?![\w$])", rf"{_OWN}\g<0>", line)

    def _timed(self, lines, late):
        for number, line in enumerate(lines):
            edge = _EDGE.match(line)
            if edge and late and not {name for _, name in _SIGNAL.findall(edge.group(1))} <= self._inputs:
                yield _later(edge.group(1), f"rtl_agent_turn_{number}")
            else:
                yield f"{line.rstrip()} #0" if edge else line


def _without_x(declaration):
    """A wire that is 0 as long as an input is not known."""
    _, width, name, _, _ = declaration.groups()
    return [f"  wire {width or ''}{_OWN}{name} = ^{name} === 1'bx ? 0 : {name};"]


def _later(edges, turn):
    """The head of a process that runs when flip-flops have changed, if what woke it up is still so."""
    active = " || ".join(f"{name} {'===' if edge == 'pos' else '!=='} 1'b1" for edge, name in _SIGNAL.findall(edges))
    return f"reg {turn} = 0; always @({edges}) {turn} <= ~{turn}; always @({turn}) #0 if ({active})"


def _parameters(module):
    taken = set(module.get("ports", {})) | set(module.get("netnames", {}))
    given = module.get("parameter_default_values", {})
    return [(name, value) for name, value in given.items() if name.isidentifier() and name not in taken]


def _literal(value):
    """JSON has vectors as strings of bits, and other strings as they are, with a blank where they look like bits."""
    if not isinstance(value, str):
        return str(value)
    if value and not value.strip("01xz"):
        signed = "s" if len(value) == 32 else ""  # an integer without a range
        return f"{len(value)}'{signed}b{value}"
    return json.dumps(value.removesuffix(" "))


def source_beside(text, top, ports, parameters):
    """The design under another name, in a root of its own that hands it the inputs of the netlist."""
    # Escaped names too: the design must not reach the netlist by the name that it has itself.
    renamed = re.sub(rf"(?<![\w$]){re.escape(top)}(?![\w$])", f"{top}_{_OWN}source", text)
    inputs = [name for name, port in ports.items() if port["direction"] == "input"]
    connected = ", ".join(f".{name}({top}.{name})" for name in inputs)
    values = ", ".join(f".{name}({value})" for name, value in parameters)
    instance = f"{top}_{_OWN}source {f'#({values}) ' if values else ''}{SOURCE} ({connected});"
    return f"\n{renamed}\nmodule {PAIR}; {instance} endmodule\n"


def is_cyclic(followers):
    """Whether a way through a graph, node -> next nodes, comes back to where it was."""
    done = set()
    for start in followers:
        if start in done:
            continue
        way, ahead = {start: None}, [(start, iter(followers[start]))]
        while ahead:
            node, rest = ahead[-1]
            following = next(rest, None)
            if following is None:
                ahead.pop()
                del way[node]
                done.add(node)
            elif following in way:
                return True
            elif following not in done:
                way[following] = None
                ahead.append((following, iter(followers.get(following, ()))))
    return False

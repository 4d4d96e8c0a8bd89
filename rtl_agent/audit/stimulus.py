"""A bench of our own for any module: random inputs of several kinds, outputs written down at every change of an input.

It knows nothing of the specification, so it also says things that the specification forbids.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

from rtl_agent.audit.trees import Module, Port

_RESET = re.compile(r"rst|reset", re.IGNORECASE)
_LOW = re.compile(r"(_n|_b|_l|_ni|n)$|^n_?(rst|reset)", re.IGNORECASE)
PHASES = 14


def testable(module: Module) -> bool:
    """Whether every port is a plain vector, and there is something to see."""
    return bool(module.outputs) and all(port.plain and port.direction in ("input", "output") for port in module.ports)


def bench(module: Module, parameters: Mapping[str, str], seed: str, *, cycles: int) -> str:
    """Verilog of the module `audit_bench`. Signals are wider than ports need, as parameters may widen these; what is
    too much of them is cut off, or stays z on both sides."""
    random = Random(f"stimulus {seed}")
    inputs, resets, clocks = _roles(module)
    data = [port for port in inputs if port not in resets and port not in clocks]
    connected = ", ".join(f".{port.name}({port.name})" for port in module.ports)
    lines = [
        "`timescale 1ns/1ps",
        "module audit_bench;",
        f"  integer audit_seed = {random.getrandbits(30)}, audit_file;",
        *(f"  reg [{_width(port) - 1}:0] {port.name} = 0;" for port in inputs),
        *(f"  wire [{_width(port) - 1}:0] {port.name};" for port in module.outputs),
        f"  {module.name}{_sets(parameters)} audit_dut ({connected});",
        *_look(module),
        "  initial begin",
        '    audit_file = $fopen("trace.txt");',
    ]
    for phase in range(PHASES):
        modes = {port.name: random.randrange(8) for port in data}
        lines += _phase(random, modes, data, resets, clocks, module, cycles * (6 if phase == PHASES - 1 else 1))
    lines += ["    $fclose(audit_file);", "    $finish(0);", "  end", "endmodule", ""]
    return "\n".join(lines)


def _roles(module: Module) -> tuple[list[Port], list[Port], list[Port]]:
    """Inputs; resets and clocks among them."""
    inputs = [port for port in module.ports if port.direction == "input"]
    resets = [port for port in inputs if _RESET.search(port.name)]
    waited = {name for edge, name in module.events if edge}
    return inputs, resets, [port for port in inputs if port.name in waited and port not in resets]


def watch(module: Module) -> str:
    """Verilog of the module `audit_watch` around a miter `audit_both`: `audit_bad` is 1 where outputs differ after all
    resets have been on at an edge of the clock. "" without one clock and a reset: any state may be the first then."""
    inputs, resets, clocks = _roles(module)
    if not testable(module) or not resets or len(clocks) != 1:
        return ""
    on = " && ".join(f"{'!' if _is_low(port, module) else ''}{port.name}[0]" for port in resets)
    return "\n".join(
        [
            "module audit_watch(",
            *(f"  input [{_width(port) - 1}:0] {port.name}," for port in inputs),
            "  output audit_bad);",
            "  wire audit_differs;",
            f"  wire audit_tick = {clocks[0].name}[0];",
            "  reg audit_seen = 0;",
            f"  audit_both audit_pair ({', '.join(f'.in_{port.name}({port.name})' for port in inputs)}, "
            ".trigger(audit_differs));",
            f"  always @(posedge audit_tick) if ({on}) audit_seen <= 1;",
            "  assign audit_bad = audit_seen && audit_differs;",
            "endmodule",
            "",
        ]
    )


def _width(port: Port) -> int:
    return max(64, 2 * port.width + 8)


def _sets(parameters: Mapping[str, str]) -> str:
    return f" #({', '.join(f'.{name}({value})' for name, value in parameters.items())})" if parameters else ""


def _look(module: Module) -> list[str]:
    form = " ".join(["%b"] * len(module.outputs))
    names = ", ".join(port.name for port in module.outputs)
    return [f'  task audit_look; begin #1 $fdisplay(audit_file, "{form}", {names}); end endtask']


def _phase(
    random: Random,
    modes: Mapping[str, int],
    data: Sequence[Port],
    resets: Sequence[Port],
    clocks: Sequence[Port],
    module: Module,
    cycles: int,
) -> list[str]:
    """Resets, then so many cycles with a way of driving for each input; some phases drive at both levels of a clock."""
    drive = [line for port in data for line in _drive(port, modes[port.name])]
    active = {port.name: 0 if _is_low(port, module) else 1 for port in resets}
    asserted = [f"    {name} = {level};" for name, level in active.items()]
    released = [f"    {name} = {1 - level};" for name, level in active.items()]
    often = random.choice((0, 0, 97, 31, 7))  # how seldom a reset comes again; 0: never
    again = [
        f"      {name} = ($random(audit_seed) & 'h7fffffff) % {often} == 0 ? {level} : {1 - level};"
        for name, level in (active.items() if often else ())
    ]
    both_levels = random.random() < 0.4
    main, others = clocks[:1], clocks[1:]
    tick = [f"      {port.name} = 1;" for port in main] + [
        f"      {port.name} = $random(audit_seed);" for port in others
    ]
    tock = [f"      {port.name} = 0;" for port in main] + [
        f"      {port.name} = $random(audit_seed);" for port in others
    ]
    if not clocks:
        return [
            *asserted,
            "    audit_look;",
            *released,
            f"    repeat ({cycles}) begin",
            *drive,
            *again,
            "      audit_look;",
            "    end",
        ]
    high = [*drive, *again, "      audit_look;"] if both_levels else []
    cycle = [*drive, *again, "      audit_look;", *tick, "      audit_look;", *high, *tock, "      audit_look;"]
    return [
        *asserted,
        "    repeat (3) begin", *tick, "      audit_look;", *tock, "      audit_look;", "    end",
        *released,
        f"    repeat ({cycles}) begin", *cycle, "    end",
    ]  # fmt: skip


def _is_low(port: Port, module: Module) -> bool:
    edges = {edge for edge, name in module.events if name == port.name}
    return "negedge" in edges if edges & {"posedge", "negedge"} else bool(_LOW.search(port.name))


def _drive(port: Port, mode: int) -> list[str]:
    """One bit, or a vector: at random; seldom; mostly at rest; or, for a vector, small, one of its bits, counting."""
    words = ", ".join(["$random(audit_seed)"] * (-(-_width(port) // 32)))
    chance = "($random(audit_seed) & 'h7fffffff) %"
    name = port.name
    if port.width == 1:
        forms = [f"{name} = $random(audit_seed);"] * 2 + [
            f"if ({chance} 5 == 0) {name} = $random(audit_seed);",
            f"{name} = {chance} 8 == 0;",
            f"{name} = {chance} 8 != 0;",
            f"{name} = {chance} 40 == 0;",
            f"{name} = {chance} 40 != 0;",
            f"if ({chance} 20 == 0) {name} = $random(audit_seed);",
        ]
    else:
        forms = [f"{name} = {{{words}}};"] * 2 + [
            f"if ({chance} 6 == 0) {name} = {{{words}}};",
            f"{name} = {chance} 4;",
            f"{name} = 1 << ({chance} {port.width});",
            f"{name} = {name} + 1;",
            f"if ({chance} 3 == 0) {name} = {chance} 2 == 0 ? 0 : ~0;",
            f"if ({chance} 30 == 0) {name} = {chance} 12;",
        ]
    return [f"      {forms[mode % len(forms)]}"]

"""How a specification is said: a choice among phrasings, three ways to give an interface, clock and reset."""

from collections.abc import Sequence
from random import Random
from typing import Any

from rtl_agent.problems.generate.spec import CLOCK, RESET, Port, Spec
from rtl_agent.problems.generate.verilog import bits

STYLES = ("sentence", "list", "table")


class Wording:
    """Picks one of several phrasings, the same for the same seed."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def __call__(self, *phrasings: str) -> str:
        return self._random.choice(phrasings)


def opening(module: str, say: Wording) -> str:
    return say(
        f"Write the Verilog module `{module}`.",
        f"Implement a module named `{module}` in Verilog.",
        f"Design the module `{module}` as follows.",
    )


def interface(spec: Spec[Any], ports: Sequence[Port], style: str) -> str:
    if style == "sentence":
        named = [f"{port.direction} `{spec[port.role]}`" + _counted(port) for port in ports]
        return f"It has {', '.join(named[:-1])} and {named[-1]}."
    if style == "list":
        return "\n".join(f"- {port.direction} {bits(port.width)}`{spec[port.role]}`" for port in ports)
    rows = [f"| {spec[port.role]} | {port.direction} | {port.width} |" for port in ports]
    return "\n".join(("| name | port | width |", "|---|---|---|", *rows))


def _counted(port: Port) -> str:
    return f" ({port.width} bits)" if port.width > 1 else ""


def clock_and_reset(spec: Spec[Any], say: Wording) -> str:
    clocking = spec.clocking
    assert clocking is not None, f"{spec.family} has no clock"
    clock, reset = f"`{spec[CLOCK]}`", f"`{spec[RESET]}`"
    level = "high" if clocking.active_high else "low"
    kind = "synchronous" if clocking.synchronous else "asynchronous"
    edge = say(
        f"It works on the {spec.edge} edge of {clock}.",
        f"All changes are made on the {spec.edge} edge of {clock}.",
        f"The active edge of {clock} is the {spec.edge} one.",
    )
    return f"{edge} " + say(
        f"The reset {reset} is {kind} and active {level}.",
        f"{reset} is an active {level} reset, {kind}.",
        f"It has {'a' if clocking.synchronous else 'an'} {kind} reset: {reset} {level}.",
    )

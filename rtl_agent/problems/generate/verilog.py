"""The one way in which every generated design is written, so that a small model can learn it."""

from collections.abc import Collection, Sequence
from typing import Any

from rtl_agent.problems.generate.spec import CLOCK, RESET, Port, Spec


def number(width: int, value: int) -> str:
    return f"{width}'d{value}"


def bits(width: int) -> str:
    """A range and a space, or nothing for a single bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


def module_text(spec: Spec[Any], ports: Sequence[Port], body: Sequence[str], hidden: Collection[str] = ()) -> str:
    """A module; `hidden` roles are signals inside it instead of ports."""
    declared = [port for port in ports if port.role not in hidden]
    header = ",\n".join(
        f"  {port.direction} {'reg ' if port.register else ''}{bits(port.width)}{spec[port.role]}" for port in declared
    )
    inside = [
        f"{'reg' if port.register else 'wire'} {bits(port.width)}{spec[port.role]};"
        for port in ports
        if port.role in hidden
    ]
    lines = "\n".join(f"  {line}" for line in (*inside, *body))
    return f"module {spec.module} (\n{header}\n);\n{lines}\nendmodule\n"


def clocked(spec: Spec[Any], on_reset: Sequence[str], otherwise: Sequence[str]) -> list[str]:
    """The always block of every clocked family."""
    clocking = spec.clocking
    assert clocking is not None, f"{spec.family} has no clock"
    reset = spec[RESET]
    events = f"{'posedge' if clocking.rising else 'negedge'} {spec[CLOCK]}"
    if not clocking.synchronous:
        events += f" or {'posedge' if clocking.active_high else 'negedge'} {reset}"
    asserted = f"if ({reset if clocking.active_high else f'!{reset}'})"
    block = [*_branch(asserted, on_reset), *_branch("else", otherwise)]
    return [f"always @({events}) begin", *(f"  {line}" for line in block), "end"]


def _branch(head: str, statements: Sequence[str]) -> list[str]:
    if len(statements) == 1:
        return [f"{head} {statements[0]}"]
    return [f"{head} begin", *(f"  {statement}" for statement in statements), "end"]


def case_block(selector: str, entries: Sequence[tuple[str, str]], output: str, default: str) -> list[str]:
    """An always block that selects one of several values."""
    return [
        "always @* begin",
        f"  case ({selector})",
        *(f"    {label}: {output} = {value};" for label, value in entries),
        f"    default: {output} = {default};",
        "  endcase",
        "end",
    ]

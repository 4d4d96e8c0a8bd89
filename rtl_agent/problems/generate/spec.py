"""A generated specification: what it fixes, how its design is written in Verilog, how it is said in English."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, Literal, TypeVar

Values = Mapping[str, int]  # role -> value
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)

STYLES = ("sentence", "list", "table")  # of an interface
CLOCK, RESET = "clock", "reset"  # the roles that every clocked family has


@dataclass(frozen=True)
class Port:
    """`role` is what the port is for; its name is drawn anew for every instance."""

    role: str
    direction: Literal["input", "output"]
    width: int = 1
    register: bool = False  # an output that is assigned in an always block


@dataclass(frozen=True)
class Clocking:
    rising: bool
    active_high: bool
    synchronous: bool


HABIT = Clocking(rising=True, active_high=False, synchronous=False)


@dataclass(frozen=True)
class Spec(Generic[C_co]):
    """Everything that decides what the right design is, and nothing of how it is said."""

    family: str
    module: str
    names: Mapping[str, str]  # role -> name
    choices: C_co
    clocking: Clocking | None

    def __getitem__(self, role: str) -> str:
        return self.names[role]

    @property
    def edge(self) -> str:
        return "rising" if self.clocking is None or self.clocking.rising else "falling"

    @property
    def parameters_key(self) -> str:
        """Names apart: what decides on which side of the split the parameters are."""
        return f"{self.family} {self.choices} {self.clocking}"

    @property
    def names_key(self) -> str:
        return f"{self.family} {self.module} {sorted(self.names.items())}"


# Designs: one way to write each, so that a small model can learn it.


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


# Specifications: one of several phrasings of each sentence, by seed.


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

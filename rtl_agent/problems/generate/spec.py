"""What a generated specification fixes, as data: names, choices, clock and reset; and the ports that follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Values = Mapping[str, int]  # role -> value
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)

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

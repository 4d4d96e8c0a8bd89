"""What every family gives: its choices, ports, sentences, canonical body, Python model, habits and near misses."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Generic

from rtl_agent.problems.generate.spec import CLOCK, RESET, C, Port, Spec, Values, Wording

State = Mapping[str, int]


class Family(ABC, Generic[C]):
    """The Python model is the truth: expectations come from it, and the Verilog text is checked against it."""

    name: ClassVar[str]
    clocked: ClassVar[bool] = True
    held_out: ClassVar[bool] = False  # never in training, wholly
    longer: ClassVar[bool] = False  # of another family: drawn only where it is named
    pools: ClassVar[Mapping[str, Sequence[str]]]  # role -> names to draw from
    customary: ClassVar[Mapping[str, str]]  # role -> the name that a textbook has
    inside: ClassVar[Sequence[str]] = ()  # names of signals within the module, not to be drawn
    likely: ClassVar[Mapping[str, float]] = {}  # role -> how often a single-bit input is 1; 0.5 if it is not here

    @abstractmethod
    def draw(self, random: Random) -> C:
        """Choices at random."""

    @abstractmethod
    def habit(self, choices: C) -> C:
        """What a textbook takes instead: default widths, the customary order, the first mode that comes to mind."""

    @abstractmethod
    def near_misses(self, choices: C) -> Mapping[str, C]:
        """What is wrong -> the choices of a design that has it wrong."""

    @abstractmethod
    def own_ports(self, choices: C) -> tuple[Port, ...]:
        """Without clock and reset."""

    @abstractmethod
    def behaviour(self, spec: Spec[C], say: Wording) -> list[str]:
        """Sentences on what the design does, clock and reset apart."""

    @abstractmethod
    def body(self, spec: Spec[C]) -> list[str]:
        """The lines inside the module."""

    @abstractmethod
    def outputs(self, choices: C, state: State, inputs: Values) -> Values:
        """What the outputs are now."""

    def start(self, choices: C) -> State:
        """The state that reset leads to."""
        return {}

    def advance(self, choices: C, state: State, inputs: Values) -> State:
        """The state after an active edge without reset."""
        return state

    def directed(self, choices: C) -> Sequence[Values]:
        """Inputs that random ones would rarely be; roles left out keep their value."""
        return ()

    def reset_sentences(self, spec: Spec[C]) -> list[str]:
        """What reset does, in one of several wordings; by default the outputs become 0."""
        outputs = [f"`{spec[port.role]}`" for port in self.own_ports(spec.choices) if port.direction == "output"]
        named = " and ".join(outputs)
        verb = "is" if len(outputs) == 1 else "are"
        return [f"In reset {named} {verb} 0.", f"With reset {named} {verb} 0.", f"{named} {verb} 0 after reset."]

    def ports(self, choices: C) -> tuple[Port, ...]:
        clock = (Port(CLOCK, "input"), Port(RESET, "input")) if self.clocked else ()
        return (*clock, *self.own_ports(choices))


AnyFamily = Family[Any]

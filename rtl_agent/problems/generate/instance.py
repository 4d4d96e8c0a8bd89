"""One generated problem before it is a `Problem`: what is right, how it is said, and what is wrong in known ways."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from rtl_agent.problems.generate.families import FAMILIES
from rtl_agent.problems.generate.family import AnyFamily
from rtl_agent.problems.generate.spec import (
    CLOCK,
    HABIT,
    RESET,
    STYLES,
    Spec,
    Wording,
    clock_and_reset,
    interface,
    module_text,
    opening,
)
from rtl_agent.problems.generate.vectors import Simulation, plan

PLANS = 4  # of other vectors than the harness has; so many without a difference, and two designs may be equivalent


@dataclass(frozen=True)
class Instance:
    """`seed` decides the wording and the test vectors, never what is right."""

    spec: Spec[Any]
    seed: str

    @property
    def family(self) -> AnyFamily:
        return FAMILIES[self.spec.family]

    @property
    def target(self) -> str:
        return f"rtl/{self.spec.module}.v"

    @property
    def reference(self) -> str:
        return design(self.spec)

    @property
    def text(self) -> str:
        """The specification."""
        say = Wording(f"wording {self.seed}")
        family, spec = self.family, self.spec
        parts = [*family.behaviour(spec, say)]
        if family.clocked:
            timing = f"{clock_and_reset(spec, say)} {say(*family.reset_sentences(spec))}"
            parts = [timing, *parts] if say("before", "after") == "before" else [*parts, timing]
        shown = interface(spec, family.ports(spec.choices), say(*STYLES))
        between = " " if shown.startswith("It has") else "\n"
        return f"{opening(spec.module, say)}{between}{shown}\n" + " ".join(parts)


def design(spec: Spec[Any], hidden: tuple[str, ...] = ()) -> str:
    """The canonical design of a specification."""
    family = FAMILIES[spec.family]
    return module_text(spec, family.ports(spec.choices), family.body(spec), hidden)


def habitual_answer(instance: Instance, share: float = 1.0, random: Random | None = None) -> str:
    """What a textbook would write under this module name: asynchronous rst_n, customary names, default widths.

    With a `share` below 1 each decision is by habit or by the specification, at random: every port's name for itself,
    clock and reset together, widths and modes together.
    """
    habit = habitual_spec(instance.spec)
    return design(habit if random is None else _mixed(instance.spec, habit, share, random))


def habitual_spec(spec: Spec[Any]) -> Spec[Any]:
    family = FAMILIES[spec.family]
    customary: Mapping[str, str] = {CLOCK: "clk", RESET: "rst_n", **family.customary}
    clocking = HABIT if family.clocked else None
    return replace(spec, names=customary, choices=family.habit(spec.choices), clocking=clocking)


def _mixed(spec: Spec[Any], habit: Spec[Any], share: float, random: Random) -> Spec[Any]:
    names = {role: habit[role] if random.random() < share else name for role, name in spec.names.items()}
    timing, modes = (random.random() < share for _ in range(2))
    if RESET in names:
        names[RESET] = habit[RESET] if timing else spec[RESET]
    if len({spec.module, *names.values()}) <= len(names):  # two ports of one name compile nowhere
        names = dict(habit.names)
    return replace(
        spec,
        names=names,
        choices=habit.choices if modes else spec.choices,
        clocking=habit.clocking if timing else spec.clocking,
    )


@dataclass(frozen=True)
class Mutant:
    """`may_be_equivalent`: the Python models of both give the same outputs on many vectors. Not training material."""

    name: str
    design: str
    may_be_equivalent: bool


def mutants(instance: Instance) -> list[Mutant]:
    """Every near miss that the family and its interface allow."""
    spec = instance.spec
    wrong = [Mutant(name, design(other), may_be_equivalent(instance, other)) for name, other in wrong_specs(instance)]
    outputs = [port.role for port in instance.family.ports(spec.choices) if port.direction == "output"]
    inputs = [port.role for port in instance.family.own_ports(spec.choices) if port.direction == "input"]
    renamed = [
        Mutant("renamed_output", design(_renamed(spec, outputs[-1])), False),
        *([Mutant("renamed_input", design(_renamed(spec, inputs[0])), False)] if inputs else []),
        Mutant("renamed_module", design(replace(spec, module=f"{spec.module}_top")), False),
    ]
    return [*wrong, *renamed, Mutant("missing_output", design(spec, hidden=(outputs[-1],)), False)]


def wrong_specs(instance: Instance) -> Iterator[tuple[str, Spec[Any]]]:
    """What is wrong -> the specification that such a design would be right for."""
    spec = instance.spec
    for name, choices in instance.family.near_misses(spec.choices).items():
        yield name, replace(spec, choices=choices)
    if spec.clocking is not None:
        clocking = spec.clocking
        yield "wrong_reset_polarity", replace(spec, clocking=replace(clocking, active_high=not clocking.active_high))
        yield "wrong_reset_kind", replace(spec, clocking=replace(clocking, synchronous=not clocking.synchronous))
        yield "wrong_clock_edge", replace(spec, clocking=replace(clocking, rising=not clocking.rising))


def _renamed(spec: Spec[Any], role: str) -> Spec[Any]:
    return replace(spec, names={**spec.names, role: f"{spec[role]}_sig"})


def may_be_equivalent(instance: Instance, other: Spec[Any]) -> bool:
    """Whether another specification's design has the same ports and, on vectors of its own, the same outputs."""
    family, spec = instance.family, instance.spec
    if _shapes(instance, other) != _shapes(instance, spec):
        return False
    for number in range(PLANS):
        simulation = Simulation(family, other)
        for step in plan(family, spec, f"equivalence {number} {instance.seed}"):
            outputs = simulation.step(step.changes)
            if step.outputs is not None and outputs != step.outputs:
                return False
    return True


def _shapes(instance: Instance, spec: Spec[Any]) -> list[tuple[str, int]]:
    return [(port.role, port.width) for port in instance.family.ports(spec.choices)]

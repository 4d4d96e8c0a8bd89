"""Near misses of a reference, by name: designs of a specification that differs in one point, or a broken interface."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rtl_agent.problems.generate.instance import Instance, design
from rtl_agent.problems.generate.spec import Spec
from rtl_agent.problems.generate.vectors import Simulation, plan

PLANS = 4  # of other vectors than the harness has; so many without a difference, and two designs may be equivalent


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

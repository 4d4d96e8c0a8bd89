"""Input vectors and the outputs to expect: a plan of steps, run through a family's Python model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from rtl_agent.problems.generate.family import AnyFamily, State
from rtl_agent.problems.generate.spec import CLOCK, RESET, Clocking, Port, Spec, Values

COMBINATIONAL_VECTORS, CYCLES = 72, 56
RESETS = 4  # of each kind, at most: at an edge, and between edges
FEW_RESETS = 2  # with fewer the directed vectors come again: a detector rarely has anything to clear


@dataclass(frozen=True)
class Step:
    """What changes at the inputs, and what the outputs are some time later; None while they are not defined."""

    changes: Values
    outputs: Values | None


class Simulation:
    """A design by its Python model, event by event."""

    def __init__(self, family: AnyFamily, spec: Spec[Any]) -> None:
        self._family, self._spec = family, spec
        self._inputs = {port.role: 0 for port in family.ports(spec.choices) if port.direction == "input"}
        self._state: State | None = None if family.clocked else {}

    def step(self, changes: Values) -> Values | None:
        """Apply these inputs; the outputs, or None while there was no reset yet."""
        family, choices, clocking = self._family, self._spec.choices, self._spec.clocking
        before = self._inputs.get(CLOCK, 0)
        self._inputs.update(changes)
        if clocking is not None:
            is_edge = (before, self._inputs[CLOCK]) == ((0, 1) if clocking.rising else (1, 0))
            if self._inputs[RESET] == clocking.active_high and (is_edge or not clocking.synchronous):
                self._state = family.start(choices)
            elif is_edge and self._state is not None:
                self._state = family.advance(choices, self._state, self._inputs)
        if self._state is None:
            return None
        return family.outputs(choices, self._state, self._inputs)

    def shows_reset(self, changes: Values, *, at_edge: bool) -> bool:
        """Whether a reset would be seen at the outputs: with these inputs, or after the next edge."""
        family, choices = self._family, self._spec.choices
        inputs = {**self._inputs, **changes}
        state, start = self._state, family.start(choices)
        if state is not None and at_edge:
            state = family.advance(choices, state, inputs)
        return state is not None and family.outputs(choices, state, inputs) != family.outputs(choices, start, inputs)


def plan(family: AnyFamily, spec: Spec[Any], seed: str) -> list[Step]:
    """The steps of a test: directed ones first, then random ones, resets among them."""
    random = Random(seed)
    simulation = Simulation(family, spec)
    steps: list[Step] = []

    def step(changes: Values) -> None:
        steps.append(Step(changes, simulation.step(changes)))

    if spec.clocking is None:
        for vector in _stimulus(family, spec, random, COMBINATIONAL_VECTORS):
            step(vector)
    else:
        for changes in _clocked_changes(family, spec, spec.clocking, random, simulation):
            step(changes)
    return steps


def _clocked_changes(
    family: AnyFamily, spec: Spec[Any], clocking: Clocking, random: Random, simulation: Simulation
) -> Iterator[Values]:
    """Inputs change while the clock goes back; outputs are looked at then, and after the active edge."""
    active, rest = int(clocking.rising), int(not clocking.rising)
    on, off = int(clocking.active_high), int(not clocking.active_high)
    ports = [port for port in family.own_ports(spec.choices) if port.direction == "input"]
    yield {**{port.role: 0 for port in ports}, CLOCK: rest, RESET: off}
    for _ in range(2):
        yield {CLOCK: rest, RESET: on}
        yield {CLOCK: active}
    directed = family.directed(spec.choices)
    resets = {at_edge: 0 for at_edge in (True, False)}
    for at, vector in enumerate((*_stimulus(family, spec, random, CYCLES), *directed)):
        again = at >= len(directed) + CYCLES
        if again and min(resets.values()) >= FEW_RESETS:
            return
        shown = [at_edge for at_edge in resets if simulation.shows_reset(vector, at_edge=at_edge)]
        wanted = [at_edge for at_edge in shown if at >= len(directed) and resets[at_edge] < RESETS]
        kind = min(wanted, key=lambda at_edge: resets[at_edge]) if wanted and (again or random.random() < 0.5) else None
        if kind is not None:
            resets[kind] += 1
        yield {**vector, CLOCK: rest, RESET: on if kind is True else off}
        if kind is False:
            yield {RESET: on}
            yield {RESET: off}
        yield {CLOCK: active}


def _stimulus(family: AnyFamily, spec: Spec[Any], random: Random, count: int) -> Iterator[Values]:
    ports = [port for port in family.own_ports(spec.choices) if port.direction == "input"]
    yield from family.directed(spec.choices)
    values: dict[str, int] = {}
    for _ in range(count):
        for port in ports:
            values[port.role] = _value(port, values, ports, family.likely, random)
        yield dict(values)


def _value(
    port: Port, values: Mapping[str, int], ports: list[Port], likely: Mapping[str, float], random: Random
) -> int:
    """Zeros, ones, single bits, neighbours and the value of another input come more often than by chance."""
    if port.width == 1:
        return int(random.random() < likely.get(port.role, 0.5))
    ones = 2**port.width - 1
    others = [values[other.role] for other in ports if other.role in values and other.width == port.width]
    candidates = [random.randint(0, ones), random.randint(0, ones), random.choice((0, ones))]
    candidates += [1 << random.randrange(port.width)]
    candidates += [(random.choice(others) + random.choice((0, 0, 1, -1))) & ones] if others else []
    return random.choice(candidates)

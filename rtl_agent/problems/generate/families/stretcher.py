"""Pulse stretcher: an output that stays high for a number of cycles after its trigger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, bits, clocked, number


@dataclass(frozen=True)
class Choices:
    cycles: int
    restarts: bool  # a trigger while it is high starts anew

    @property
    def width(self) -> int:
        return self.cycles.bit_length()


class Stretcher(Family[Choices]):
    name = "stretcher"
    held_out = True
    pools = {"trigger": names.TRIGGERS, "long": names.FLAGS}  # noqa: RUF012
    customary = {"trigger": "trigger", "long": "pulse"}  # noqa: RUF012
    inside = ("left",)
    likely = {"trigger": 0.2}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(2, 12), random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, restarts=True)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "one_cycle_less": replace(choices, cycles=choices.cycles - 1),
            "one_cycle_more": replace(choices, cycles=choices.cycles + 1),
            "restart_swapped": replace(choices, restarts=not choices.restarts),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return Port("trigger", "input"), Port("long", "output")

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        trigger, long, cycles = f"`{spec['trigger']}`", f"`{spec['long']}`", spec.choices.cycles
        first = say(
            f"An edge with {trigger} high makes {long} high for {cycles} cycles.",
            f"After an edge with {trigger} at 1, {long} is high for {cycles} cycles.",
        )
        if spec.choices.restarts:
            return [first, say(f"While it is high, {trigger} starts it again.", f"Each {trigger} starts it anew.")]
        return [first, say(f"While it is high, {trigger} has no effect.", f"Until it ends {trigger} is not used.")]

    def body(self, spec: Spec[Choices]) -> list[str]:
        trigger, width = spec["trigger"], spec.choices.width
        zero, one = number(width, 0), number(width, 1)
        starts = trigger if spec.choices.restarts else f"{trigger} && left == {zero}"
        return [
            f"reg {bits(width)}left;",
            f"assign {spec['long']} = left != {zero};",
            *clocked(
                spec,
                [f"left <= {zero};"],
                [
                    f"if ({starts}) left <= {number(width, spec.choices.cycles)};",
                    f"else if (left != {zero}) left <= left - {one};",
                ],
            ),
        ]

    def start(self, choices: Choices) -> State:
        return {"left": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        left = state["left"]
        if inputs["trigger"] and (choices.restarts or not left):
            return {"left": choices.cycles}
        return {"left": max(left - 1, 0)}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        return {"long": int(state["left"] != 0)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        alone = [{"trigger": 1}, *[{"trigger": 0}] * (choices.cycles + 1)]
        return [*alone, {"trigger": 1}, {"trigger": 1}, *[{"trigger": 0}] * (choices.cycles + 1)]

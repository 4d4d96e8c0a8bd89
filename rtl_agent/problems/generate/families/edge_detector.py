"""Edge detector: rising, falling or both, in the same cycle or registered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, bits, clocked, number

EDGES = {"rising": "{now} & ~prev", "falling": "~{now} & prev", "both": "{now} ^ prev"}


@dataclass(frozen=True)
class Choices:
    width: int
    edges: str
    registered: bool


class EdgeDetector(Family[Choices]):
    name = "edge_detector"
    pools = {"signal": names.BITS_IN + names.REQUESTS, "pulse": names.FLAGS}  # noqa: RUF012
    customary = {"signal": "in", "pulse": "pulse"}  # noqa: RUF012
    inside = ("prev",)

    def draw(self, random: Random) -> Choices:
        return Choices(random.choice((1, 1, 2, 3, 4, 5)), random.choice(list(EDGES)), random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return Choices(1, "rising", registered=True)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        others = [edges for edges in EDGES if edges != choices.edges]
        return {
            **{f"{edges}_edges": replace(choices, edges=edges) for edges in others},
            "one_cycle_off": replace(choices, registered=not choices.registered),
            "one_bit_more": replace(choices, width=choices.width + 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return (
            Port("signal", "input", choices.width),
            Port("pulse", "output", choices.width, choices.registered),
        )

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        signal, pulse, edges = f"`{spec['signal']}`", f"`{spec['pulse']}`", spec.choices.edges
        which = {"rising": "rises", "falling": "falls", "both": "changes"}[edges]
        subject = signal if spec.choices.width == 1 else f"a bit of {signal}"
        same = "" if spec.choices.width == 1 else " the same bit of"
        said = say(
            f"When {subject} {which},{same} {pulse} is high for one cycle.",
            f"For one cycle{same} {pulse} shows that {subject} {which}.",
        )
        if spec.choices.registered:
            return [said, say(f"{pulse} is registered.", f"{pulse} changes on clock edges only.")]
        return [
            said,
            say(f"{pulse} is combinational from {signal} and its stored value.", f"{pulse} is not registered."),
        ]

    def reset_sentences(self, spec: Spec[Choices]) -> list[str]:
        signal, pulse = f"`{spec['signal']}`", f"`{spec['pulse']}`"
        if spec.choices.registered:
            return [
                f"{pulse} and the stored {signal} are 0 after reset.",
                f"In reset {pulse} and the stored {signal} are 0.",
            ]
        return [f"With reset the stored {signal} becomes 0.", f"In reset the stored {signal} is 0."]

    def body(self, spec: Spec[Choices]) -> list[str]:
        signal, pulse, width = spec["signal"], spec["pulse"], spec.choices.width
        value = EDGES[spec.choices.edges].format(now=signal)
        zero = number(width, 0)
        if spec.choices.registered:
            run = [f"prev <= {signal};", f"{pulse} <= {value};"]
            return [f"reg {bits(width)}prev;", *clocked(spec, [f"prev <= {zero};", f"{pulse} <= {zero};"], run)]
        return [
            f"reg {bits(width)}prev;",
            f"assign {pulse} = {value};",
            *clocked(spec, [f"prev <= {zero};"], [f"prev <= {signal};"]),
        ]

    def start(self, choices: Choices) -> State:
        return {"prev": 0, "pulse": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        return {"prev": inputs["signal"], "pulse": self._edges(choices, inputs["signal"], state["prev"])}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        if choices.registered:
            return {"pulse": state["pulse"]}
        return {"pulse": self._edges(choices, inputs["signal"], state["prev"])}

    def directed(self, choices: Choices) -> Sequence[Values]:
        ones = 2**choices.width - 1
        return [{"signal": value} for value in (0, ones, ones, 0, 0, ones, 0, ones)]

    @staticmethod
    def _edges(choices: Choices, now: int, before: int) -> int:
        return {"rising": now & ~before, "falling": ~now & before, "both": now ^ before}[choices.edges]

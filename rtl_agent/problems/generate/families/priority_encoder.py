"""Priority encoder: the number of the first bit that is set, from either end, and whether there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, number


@dataclass(frozen=True)
class Choices:
    width: int
    lowest_first: bool

    @property
    def index_width(self) -> int:
        return (self.width - 1).bit_length()


class PriorityEncoder(Family[Choices]):
    name = "priority_encoder"
    clocked = False
    held_out = True
    pools = {"lines": names.REQUESTS, "index": names.SELECTS, "any": names.FLAGS}  # noqa: RUF012
    customary = {"lines": "in", "index": "out", "any": "valid"}  # noqa: RUF012
    inside = ("i",)

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 12), random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, lowest_first=False)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "reversed_priority": replace(choices, lowest_first=not choices.lowest_first),
            "one_bit_more": replace(choices, width=choices.width + 1),
            "one_bit_less": replace(choices, width=choices.width - 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return (
            Port("lines", "input", choices.width),
            Port("index", "output", choices.index_width, True),
            Port("any", "output"),
        )

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        lines, index, found = (f"`{spec[role]}`" for role in ("lines", "index", "any"))
        end = "lowest" if spec.choices.lowest_first else "highest"
        return [
            say(
                f"{index} is the number of the {end} bit of {lines} that is set.",
                f"The {end} bit that is set in {lines} gives {index}, its number.",
            ),
            say(f"With no bit set {index} is 0.", f"{index} is 0 when {lines} is 0."),
            say(f"{found} is high when any bit is set.", f"{found} shows that {lines} is not 0."),
        ]

    def body(self, spec: Spec[Choices]) -> list[str]:
        lines, index, width = spec["lines"], spec["index"], spec.choices.width
        down, up = f"i = {width - 1}; i >= 0; i = i - 1", f"i = 0; i < {width}; i = i + 1"
        return [
            "integer i;",
            f"assign {spec['any']} = |{lines};",
            "always @* begin",
            f"  {index} = {number(spec.choices.index_width, 0)};",
            f"  for ({down if spec.choices.lowest_first else up})",
            f"    if ({lines}[i]) {index} = i;",
            "end",
        ]

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        lines = inputs["lines"]
        first = (lines & -lines) if choices.lowest_first else lines
        return {"index": max(first.bit_length() - 1, 0), "any": int(lines != 0)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        ones = 2**choices.width - 1
        return [
            {"lines": lines} for bit in range(choices.width) for lines in (1 << bit, ones >> bit, ones >> bit << bit)
        ]

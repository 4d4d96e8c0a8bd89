"""Decoder: a code to one bit, from either end, active high or low, with an enable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, number


@dataclass(frozen=True)
class Choices:
    width: int  # of the output
    lowest_first: bool  # code 0 is bit 0
    active_high: bool

    @property
    def code_width(self) -> int:
        return (self.width - 1).bit_length()


class Decoder(Family[Choices]):
    name = "decoder"
    clocked = False
    pools = {"enable": names.ENABLES, "code": names.SELECTS, "lines": names.GRANTS + names.DATA_OUT}  # noqa: RUF012
    customary = {"enable": "en", "code": "in", "lines": "out"}  # noqa: RUF012
    likely = {"enable": 0.8}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 11), random.random() < 0.5, random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, lowest_first=True, active_high=True)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "from_the_other_end": replace(choices, lowest_first=not choices.lowest_first),
            "inverted": replace(choices, active_high=not choices.active_high),
            "one_bit_more": replace(choices, width=choices.width + 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return (
            Port("enable", "input"),
            Port("code", "input", choices.code_width),
            Port("lines", "output", choices.width),
        )

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        enable, code, lines = (f"`{spec[role]}`" for role in ("enable", "code", "lines"))
        level, idle = ("high", "low") if spec.choices.active_high else ("low", "high")
        end = "lowest" if spec.choices.lowest_first else "highest"
        one = say(
            f"While {enable} is high, the bit of {lines} with number {code} is {level}; bit 0 is the {end} bit.",
            f"{code} selects the bit of {lines} that is {level} while {enable} is 1, counted from the {end} bit.",
        )
        rest = say(f"All other bits are {idle}.", f"Every other bit stays {idle}.")
        return [one, rest, say(f"While {enable} is low all are {idle}.", f"With {enable} at 0 all bits are {idle}.")]

    def body(self, spec: Spec[Choices]) -> list[str]:
        width = spec.choices.width
        one = f"{number(width, 1)} <<" if spec.choices.lowest_first else f"{number(width, 1 << width - 1)} >>"
        value = f"{spec['enable']} ? {one} {spec['code']} : {number(width, 0)}"
        return [f"assign {spec['lines']} = {value if spec.choices.active_high else f'~({value})'};"]

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        ones = 2**choices.width - 1
        one = 1 << inputs["code"] if choices.lowest_first else 1 << choices.width - 1 >> inputs["code"]
        lines = one & ones if inputs["enable"] else 0
        return {"lines": lines if choices.active_high else lines ^ ones}

    def directed(self, choices: Choices) -> Sequence[Values]:
        return [{"enable": enable, "code": code} for code in range(2**choices.code_width) for enable in (1, 0)]

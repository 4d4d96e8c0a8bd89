"""Parity: even or odd, alone or with its word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording

PLACES = ("alone", "above", "below")


@dataclass(frozen=True)
class Choices:
    width: int
    odd: bool
    place: str


class Parity(Family[Choices]):
    name = "parity"
    clocked = False
    pools = {"word": names.DATA_IN, "result": (*names.FLAGS, *names.DATA_OUT, "parity")}  # noqa: RUF012
    customary = {"word": "data", "result": "parity"}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 16), random.random() < 0.5, random.choice(PLACES))

    def habit(self, choices: Choices) -> Choices:
        return replace(choices, width=8, odd=False)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        places = {f"parity_{place}": replace(choices, place=place) for place in PLACES if place != choices.place}
        return {
            "even_and_odd_swapped": replace(choices, odd=not choices.odd),
            "one_bit_more": replace(choices, width=choices.width + 1),
            "one_bit_less": replace(choices, width=choices.width - 1),
            **places,
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        result = 1 if choices.place == "alone" else choices.width + 1
        return Port("word", "input", choices.width), Port("result", "output", result)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        word, result = f"`{spec['word']}`", f"`{spec['result']}`"
        kind = "odd" if spec.choices.odd else "even"
        if spec.choices.place == "alone":
            bit = say(f"{result} is the {kind} parity bit of {word}.", f"The {kind} parity bit of {word} is {result}.")
        else:
            where = "above" if spec.choices.place == "above" else "below"
            bit = say(
                f"{result} is {word} with its {kind} parity bit {where} the other bits.",
                f"In {result} the {kind} parity bit of {word} stands {where} the bits of {word}.",
            )
        total = say(
            f"Together with it, the number of ones is {kind}.", f"With it, {word} has an {kind} number of ones."
        )
        return [bit, total]

    def body(self, spec: Spec[Choices]) -> list[str]:
        word = spec["word"]
        bit = f"~^{word}" if spec.choices.odd else f"^{word}"
        value = {"alone": bit, "above": f"{{{bit}, {word}}}", "below": f"{{{word}, {bit}}}"}[spec.choices.place]
        return [f"assign {spec['result']} = {value};"]

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        word = inputs["word"]
        bit = word.bit_count() & 1 ^ choices.odd
        return {"result": {"alone": bit, "above": bit << choices.width | word, "below": word << 1 | bit}[choices.place]}

    def directed(self, choices: Choices) -> Sequence[Values]:
        return [{"word": 1 << bit} for bit in range(choices.width)]

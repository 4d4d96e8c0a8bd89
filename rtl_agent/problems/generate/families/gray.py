"""Gray code: from binary or to binary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording


@dataclass(frozen=True)
class Choices:
    width: int
    to_gray: bool
    inverted: bool  # every bit of the result


class Gray(Family[Choices]):
    name = "gray"
    clocked = False
    pools = {"word": (*names.DATA_IN, "bin", "gray"), "result": (*names.DATA_OUT, "bin", "gray")}  # noqa: RUF012
    customary = {"word": "bin", "result": "gray"}  # noqa: RUF012
    inside = ("i",)

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 14), random.random() < 0.5, random.random() < 0.3)

    def habit(self, choices: Choices) -> Choices:
        return replace(choices, width=8, inverted=False)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "other_direction": replace(choices, to_gray=not choices.to_gray),
            "inverted": replace(choices, inverted=not choices.inverted),
            "one_bit_more": replace(choices, width=choices.width + 1),
            "one_bit_less": replace(choices, width=choices.width - 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return Port("word", "input", choices.width), Port("result", "output", choices.width, not choices.to_gray)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        word, result = f"`{spec['word']}`", f"`{spec['result']}`"
        source, target = ("binary", "gray") if spec.choices.to_gray else ("gray", "binary")
        said = say(
            f"{result} is the {target} code of the {source} number {word}.",
            f"{word} is {source}; {result} is the same number in {target} code.",
            f"From {source} {word} to {target} {result}, combinational.",
        )
        if not spec.choices.inverted:
            return [said]
        return [said, say("Every bit of the result is inverted.", f"All bits of {result} are inverted.")]

    def body(self, spec: Spec[Choices]) -> list[str]:
        word, result = spec["word"], spec["result"]
        not_ = "~" if spec.choices.inverted else ""
        if spec.choices.to_gray:
            value = f"{word} ^ ({word} >> 1)"
            return [f"assign {result} = {f'~({value})' if not_ else value};"]
        return [
            "integer i;",
            "always @* begin",
            f"  for (i = 0; i < {spec.choices.width}; i = i + 1)",
            f"    {result}[i] = {not_}^({word} >> i);",
            "end",
        ]

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        word = inputs["word"]
        result = word ^ word >> 1
        if not choices.to_gray:
            result = sum(((word >> bit).bit_count() & 1) << bit for bit in range(choices.width))
        return {"result": result ^ (2**choices.width - 1 if choices.inverted else 0)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        return [{"word": 1 << bit} for bit in range(choices.width)]

"""Sum or difference that stays within its range instead of wrapping."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, bits, number


@dataclass(frozen=True)
class Choices:
    width: int
    adds: bool


class ClampedSum(Family[Choices]):
    name = "clamped_sum"
    clocked = False
    held_out = True
    pools = {"a": names.LETTERS, "b": names.LETTERS, "result": (*names.DATA_OUT, "sum")}  # noqa: RUF012
    customary = {"a": "a", "b": "b", "result": "sum"}  # noqa: RUF012
    inside = ("full",)

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 12), random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return replace(choices, width=8)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "sum_and_difference_swapped": replace(choices, adds=not choices.adds),
            "one_bit_more": replace(choices, width=choices.width + 1),
            "one_bit_less": replace(choices, width=choices.width - 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        width = choices.width
        return Port("a", "input", width), Port("b", "input", width), Port("result", "output", width)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        a, b, result = (f"`{spec[role]}`" for role in ("a", "b", "result"))
        word, limit = ("plus", 2**spec.choices.width - 1) if spec.choices.adds else ("minus", 0)
        over = "greater than" if spec.choices.adds else "less than"
        return [
            say(f"{result} is {a} {word} {b}, combinational.", f"From {a} {word} {b} comes {result}."),
            say(f"It is {limit} when the result would be {over} {limit}.", f"A result {over} {limit} becomes {limit}."),
        ]

    def body(self, spec: Spec[Choices]) -> list[str]:
        width, result = spec.choices.width, spec["result"]
        limit = number(width, 2**width - 1 if spec.choices.adds else 0)
        return [
            f"wire {bits(width + 1)}full = {spec['a']} {'+' if spec.choices.adds else '-'} {spec['b']};",
            f"assign {result} = full[{width}] ? {limit} : full[{width - 1}:0];",
        ]

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        a, b = inputs["a"], inputs["b"]
        return {"result": min(a + b, 2**choices.width - 1) if choices.adds else max(a - b, 0)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        ones = 2**choices.width - 1
        edge = (0, 1, ones // 2, ones // 2 + 1, ones)
        return [{"a": a, "b": b} for a in edge for b in edge]

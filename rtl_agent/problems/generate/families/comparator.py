"""Comparator: two relations of two words, signed or unsigned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording

# Relation -> what it is called, and how it is written.
RELATIONS = {
    "less": ("less than", "<"),
    "at_most": ("less than or equal to", "<="),
    "equal": ("equal to", "=="),
    "different": ("not equal to", "!="),
    "greater": ("greater than", ">"),
    "at_least": ("greater than or equal to", ">="),
}
OPPOSITE = {"less": "greater", "at_most": "less", "equal": "different", "different": "equal", "greater": "less"}


@dataclass(frozen=True)
class Choices:
    width: int
    signed: bool
    relations: tuple[str, str]


class Comparator(Family[Choices]):
    name = "comparator"
    clocked = False
    pools = {  # noqa: RUF012
        "a": (*names.LETTERS, "left", "num"),
        "b": (*names.LETTERS, "right", "number"),
        "first": (*names.FLAGS, "lt", "gt", "eq", "ne", "le", "ge", "less", "greater", "equal"),
        "second": (*names.FLAGS, "lt", "gt", "eq", "ne", "le", "ge", "smaller", "larger"),
    }
    customary = {"a": "a", "b": "b", "first": "gt", "second": "eq"}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        first, second = random.sample(list(RELATIONS), 2)
        return Choices(random.randint(2, 12), random.random() < 0.5, (first, second))

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, signed=False, relations=("greater", "equal"))

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        first, second = choices.relations
        return {
            "signed_and_unsigned_swapped": replace(choices, signed=not choices.signed),
            "outputs_swapped": replace(choices, relations=(second, first)),
            "wrong_relation": replace(choices, relations=(first, OPPOSITE.get(second, "greater"))),
            "one_bit_less": replace(choices, width=choices.width - 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        words = Port("a", "input", choices.width), Port("b", "input", choices.width)
        return *words, Port("first", "output"), Port("second", "output")

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        a, b = f"`{spec['a']}`", f"`{spec['b']}`"
        kind = "signed" if spec.choices.signed else "unsigned"
        words = [RELATIONS[relation][0] for relation in spec.choices.relations]
        said = [
            say(f"`{spec[role]}` is 1 when {a} is {is_} {b}.", f"`{spec[role]}` shows that {a} is {is_} {b}.")
            for role, is_ in zip(("first", "second"), words, strict=True)
        ]
        return [say(f"{a} and {b} are {kind} numbers.", f"The numbers {a} and {b} are {kind}."), *said]

    def body(self, spec: Spec[Choices]) -> list[str]:
        a, b = spec["a"], spec["b"]
        if spec.choices.signed:
            a, b = f"$signed({a})", f"$signed({b})"
        signs = [RELATIONS[relation][1] for relation in spec.choices.relations]
        return [f"assign {spec[role]} = {a} {sign} {b};" for role, sign in zip(("first", "second"), signs, strict=True)]

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        a, b = inputs["a"], inputs["b"]
        if choices.signed:
            half = 2 ** (choices.width - 1)
            a, b = (a ^ half) - half, (b ^ half) - half
        holds = {"less": a < b, "at_most": a <= b, "equal": a == b}
        holds |= {"different": a != b, "greater": a > b, "at_least": a >= b}
        return {"first": int(holds[choices.relations[0]]), "second": int(holds[choices.relations[1]])}

    def directed(self, choices: Choices) -> Sequence[Values]:
        ones = 2**choices.width - 1
        half = ones // 2
        return [{"a": a, "b": b} for a in (0, 1, half, half + 1, ones) for b in (0, 1, half, half + 1, ones)]

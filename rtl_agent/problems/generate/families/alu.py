"""ALU: three or four operations under given opcodes; other opcodes give 0."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, case_block, number

# Operation -> what it is called, how it is written, and what it is.
OPERATIONS: dict[str, tuple[str, str, Callable[[int, int], int]]] = {
    "add": ("{a} plus {b}", "{a} + {b}", lambda a, b: a + b),
    "subtract": ("{a} minus {b}", "{a} - {b}", lambda a, b: a - b),
    "subtract_from": ("{b} minus {a}", "{b} - {a}", lambda a, b: b - a),
    "and": ("{a} and {b}", "{a} & {b}", lambda a, b: a & b),
    "or": ("{a} or {b}", "{a} | {b}", lambda a, b: a | b),
    "xor": ("{a} xor {b}", "{a} ^ {b}", lambda a, b: a ^ b),
    "not": ("not {a}", "~{a}", lambda a, b: ~a),
    "pass": ("{b} alone", "{b}", lambda a, b: b),
    "left": ("{a} shift left by 1", "{a} << 1", lambda a, b: a << 1),
    "right": ("{a} shift right by 1", "{a} >> 1", lambda a, b: a >> 1),
}


@dataclass(frozen=True)
class Choices:
    width: int
    code_width: int
    codes: tuple[tuple[int, str], ...]  # (opcode, operation)


class Alu(Family[Choices]):
    name = "alu"
    clocked = False
    pools = {"code": names.OPCODES, "a": names.LETTERS, "b": names.LETTERS, "result": names.DATA_OUT}  # noqa: RUF012
    customary = {"code": "op", "a": "a", "b": "b", "result": "result"}  # noqa: RUF012

    code_widths: ClassVar[tuple[int, ...]] = (2, 3)
    counts: ClassVar[tuple[int, ...]] = (3, 4)

    def draw(self, random: Random) -> Choices:
        code_width = random.choice(self.code_widths)
        count = random.choice(self.counts)
        operations = random.sample(list(OPERATIONS), count)
        codes = random.sample(range(2**code_width), count)
        return Choices(random.randint(3, 12), code_width, tuple(sorted(zip(codes, operations, strict=True))))

    def habit(self, choices: Choices) -> Choices:
        """The operations in their usual order from opcode 0 on."""
        usual = [name for name in OPERATIONS if name in dict(choices.codes).values()]
        return replace(choices, width=8, codes=tuple(enumerate(usual)))

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        codes, operations = zip(*choices.codes, strict=True)
        other = next(name for name in OPERATIONS if name not in operations)
        free = [code for code in range(2**choices.code_width) if code not in codes]
        moved = {"wrong_opcode": tuple(zip((*codes[:-1], free[0]), operations, strict=True))} if free else {}
        return {
            "opcodes_swapped": replace(
                choices, codes=tuple(zip(codes, (operations[1], operations[0], *operations[2:]), strict=True))
            ),
            "wrong_operation": replace(choices, codes=tuple(zip(codes, (*operations[:-1], other), strict=True))),
            "one_bit_less": replace(choices, width=choices.width - 1),
            **{name: replace(choices, codes=given) for name, given in moved.items()},
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return (
            Port("code", "input", choices.code_width),
            Port("a", "input", choices.width),
            Port("b", "input", choices.width),
            Port("result", "output", choices.width, True),
        )

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        code, result = f"`{spec['code']}`", f"`{spec['result']}`"
        a, b = f"`{spec['a']}`", f"`{spec['b']}`"
        listed = ", ".join(f"{at}: {OPERATIONS[name][0].format(a=a, b=b)}" for at, name in spec.choices.codes)
        said = say(
            f"{result} is given by {code}, combinational. {listed}.",
            f"The opcode {code} selects {result}. {listed}.",
        )
        others = len(spec.choices.codes) < 2**spec.choices.code_width
        return [said, *([say("Other codes give 0.", f"For any other code {result} is 0.")] if others else [])]

    def body(self, spec: Spec[Choices]) -> list[str]:
        choices = spec.choices
        entries = [
            (number(choices.code_width, at), OPERATIONS[name][1].format(a=spec["a"], b=spec["b"]))
            for at, name in choices.codes
        ]
        return case_block(spec["code"], entries, spec["result"], number(choices.width, 0))

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        name = dict(choices.codes).get(inputs["code"])
        result = OPERATIONS[name][2](inputs["a"], inputs["b"]) if name else 0
        return {"result": result & (2**choices.width - 1)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        ones = 2**choices.width - 1
        pairs = ((1, 2), (3, 1), (ones, 1), (0, 0), (5 & ones, 6 & ones))
        return [{"code": code, "a": a, "b": b} for code in range(2**choices.code_width) for a, b in pairs]

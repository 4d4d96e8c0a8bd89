"""Multiplexer whose select codes are shuffled; a code without an input gives 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, case_block, number

ROLES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True)
class Choices:
    width: int
    codes: tuple[int, ...]  # the code that selects each input, in the order of the ports


class Mux(Family[Choices]):
    name = "mux"
    clocked = False
    pools = {"select": names.SELECTS, **dict.fromkeys(ROLES[:4], names.LETTERS), "result": names.DATA_OUT}  # noqa: RUF012
    customary = {"select": "sel", "result": "out", **dict(zip(ROLES, "abcd", strict=False))}  # noqa: RUF012
    code_width: ClassVar[int] = 2
    inputs: ClassVar[tuple[int, ...]] = (3, 4)

    def draw(self, random: Random) -> Choices:
        return Choices(
            random.randint(2, 12), tuple(random.sample(range(2**self.code_width), random.choice(self.inputs)))
        )

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, tuple(range(len(choices.codes))))

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        codes = choices.codes
        return {
            "codes_swapped": replace(choices, codes=(codes[1], codes[0], *codes[2:])),
            "codes_turned": replace(choices, codes=(*codes[1:], codes[0])),
            "codes_in_order": replace(choices, codes=tuple(sorted(codes))),
            "one_bit_less": replace(choices, width=choices.width - 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        inputs = [Port(role, "input", choices.width) for role in ROLES[: len(choices.codes)]]
        return Port("select", "input", self.code_width), *inputs, Port("result", "output", choices.width, True)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        select, result = f"`{spec['select']}`", f"`{spec['result']}`"
        pairs = sorted(zip(spec.choices.codes, ROLES, strict=False))
        listed = ", ".join(f"{code}: `{spec[role]}`" for code, role in pairs)
        said = say(
            f"{result} is selected by {select}. {listed}.",
            f"The code {select} gives {result}, combinational. {listed}.",
        )
        return [said, *(["Other codes give 0."] if len(pairs) < 2**self.code_width else [])]

    def body(self, spec: Spec[Choices]) -> list[str]:
        pairs = sorted(zip(spec.choices.codes, ROLES, strict=False))
        entries = [(number(self.code_width, code), spec[role]) for code, role in pairs]
        return case_block(spec["select"], entries, spec["result"], number(spec.choices.width, 0))

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        by_code = dict(zip(choices.codes, ROLES, strict=False))
        role = by_code.get(inputs["select"])
        return {"result": inputs[role] if role else 0}

    def directed(self, choices: Choices) -> Sequence[Values]:
        data = {role: at % 3 + 1 for at, role in enumerate(ROLES[: len(choices.codes)])}
        alone = [{**dict.fromkeys(data, 0), role: 1} for role in data]
        return [{**vector, "select": code} for vector in (data, *alone) for code in range(2**self.code_width)]

"""Detector of a bit pattern, overlaps included, with or without a valid bit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, bits, clocked, number


@dataclass(frozen=True)
class Choices:
    pattern: str
    enabled: bool


def literal(choices: Choices) -> str:
    return f"{len(choices.pattern)}'b{choices.pattern}"


class SequenceDetector(Family[Choices]):
    name = "sequence_detector"
    pools = {"enable": names.ENABLES, "serial": names.BITS_IN, "hit": names.FLAGS}  # noqa: RUF012
    customary = {"enable": "en", "serial": "din", "hit": "detected"}  # noqa: RUF012
    inside = ("shift",)
    likely = {"enable": 0.8}  # noqa: RUF012

    lengths: ClassVar[tuple[int, int]] = (3, 5)

    def draw(self, random: Random) -> Choices:
        length = random.randint(*self.lengths)
        return Choices(f"{random.randrange(1, 2**length):0{length}b}", random.random() < 0.3)

    def habit(self, choices: Choices) -> Choices:
        return replace(choices, pattern="1011")

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        pattern = choices.pattern
        flipped = {"0": "1", "1": "0"}
        return {
            "reversed_pattern": replace(choices, pattern=pattern[::-1]),
            "last_bit_wrong": replace(choices, pattern=pattern[:-1] + flipped[pattern[-1]]),
            "first_bit_wrong": replace(choices, pattern=flipped[pattern[0]] + pattern[1:]),
            "first_bit_left_out": replace(choices, pattern=pattern[1:]),
            **({"enable_left_out": replace(choices, enabled=False)} if choices.enabled else {}),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        enable = (Port("enable", "input"),) if choices.enabled else ()
        return *enable, Port("serial", "input"), Port("hit", "output", 1, True)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        serial, hit, pattern = f"`{spec['serial']}`", f"`{spec['hit']}`", literal(spec.choices)
        found = say(
            f"{hit} is high for one cycle after the bits {pattern} of {serial}, overlaps included.",
            f"When the last bits of {serial} are {pattern}, {hit} becomes 1, else 0; patterns may overlap.",
        )
        earlier = say("Bits before the reset are 0.", "After reset all earlier bits are 0.")
        if not spec.choices.enabled:
            return [found, earlier]
        enable = f"`{spec['enable']}`"
        held = say(f"While {enable} is low no bit is taken and {hit} holds.", f"Nothing changes while {enable} is 0.")
        return [found, earlier, held]

    def body(self, spec: Spec[Choices]) -> list[str]:
        serial, hit, pattern = spec["serial"], spec["hit"], spec.choices.pattern
        stored = len(pattern) - 1
        run = [
            f"shift <= {{shift[{stored - 2}:0], {serial}}};" if stored > 1 else f"shift <= {serial};",
            f"{hit} <= {{shift, {serial}}} == {literal(spec.choices)};",
        ]
        if spec.choices.enabled:
            run = [f"if ({spec['enable']}) begin", *(f"  {line}" for line in run), "end"]
        reset = [f"shift <= {number(stored, 0)};", f"{hit} <= 1'd0;"]
        return [f"reg {bits(stored)}shift;", *clocked(spec, reset, run)]

    def start(self, choices: Choices) -> State:
        return {"shift": 0, "hit": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        if choices.enabled and not inputs["enable"]:
            return state
        length = len(choices.pattern)
        seen = (state["shift"] << 1 | inputs["serial"]) & (2**length - 1)
        return {"shift": seen & (2 ** (length - 1) - 1), "hit": int(seen == int(choices.pattern, 2))}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        return {"hit": state["hit"]}

    def directed(self, choices: Choices) -> Sequence[Values]:
        pattern = choices.pattern
        stream = pattern * 2 + "".join(f"{pattern[:-1]}{bit}" for bit in "10") + pattern[1:] + pattern
        overlapping = pattern + pattern[1:] + pattern[-2:] + pattern[2:] + pattern
        enable = {"enable": 1} if choices.enabled else {}
        return [{"serial": int(bit), **enable} for bit in stream + overlapping]

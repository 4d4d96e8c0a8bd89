"""Shift register: to the left or to the right, with or without an enable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, clocked, number


@dataclass(frozen=True)
class Choices:
    width: int
    left: bool
    enabled: bool


class ShiftRegister(Family[Choices]):
    name = "shift_register"
    pools = {"enable": names.ENABLES, "serial": names.BITS_IN, "word": names.DATA_OUT}  # noqa: RUF012
    customary = {"enable": "en", "serial": "din", "word": "q"}  # noqa: RUF012
    likely = {"enable": 0.75}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 12), random.random() < 0.5, random.random() < 0.6)

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, left=True, enabled=choices.enabled)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "other_direction": replace(choices, left=not choices.left),
            "one_bit_more": replace(choices, width=choices.width + 1),
            "one_bit_less": replace(choices, width=choices.width - 1),
            **({"enable_left_out": replace(choices, enabled=False)} if choices.enabled else {}),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        enable = (Port("enable", "input"),) if choices.enabled else ()
        return *enable, Port("serial", "input"), Port("word", "output", choices.width, True)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        serial, word = f"`{spec['serial']}`", f"`{spec['word']}`"
        way, end = ("left", "lowest") if spec.choices.left else ("right", "highest")
        moves = say(
            f"{word} shifts {way} by one bit and takes {serial} as its {end} bit.",
            f"{serial} goes into the {end} bit of {word}, all other bits shift {way}.",
        )
        if not spec.choices.enabled:
            return [moves, say("It shifts in every cycle.", "This happens on each edge.")]
        enable = f"`{spec['enable']}`"
        return [moves, say(f"It shifts only while {enable} is high.", f"While {enable} is 0 it holds.")]

    def body(self, spec: Spec[Choices]) -> list[str]:
        serial, word, width = spec["serial"], spec["word"], spec.choices.width
        moved = f"{{{word}[{width - 2}:0], {serial}}}" if spec.choices.left else f"{{{serial}, {word}[{width - 1}:1]}}"
        guard = f"if ({spec['enable']}) " if spec.choices.enabled else ""
        return clocked(spec, [f"{word} <= {number(width, 0)};"], [f"{guard}{word} <= {moved};"])

    def start(self, choices: Choices) -> State:
        return {"word": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        word, serial = state["word"], inputs["serial"]
        if choices.enabled and not inputs["enable"]:
            return state
        if choices.left:
            return {"word": (word << 1 | serial) & (2**choices.width - 1)}
        return {"word": word >> 1 | serial << choices.width - 1}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        return state

    def directed(self, choices: Choices) -> Sequence[Values]:
        enable = {"enable": 1} if choices.enabled else {}
        return [{"serial": int(at == 0), **enable} for at in range(choices.width + 2)]

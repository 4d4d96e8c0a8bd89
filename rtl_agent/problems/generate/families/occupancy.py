"""Occupancy of a FIFO: how many words are in it, and whether it is full or empty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, clocked, number


@dataclass(frozen=True)
class Choices:
    depth: int
    shows_full: bool  # else empty
    flag_high: bool  # the flag is 1 when it holds

    @property
    def width(self) -> int:
        return self.depth.bit_length()


class Occupancy(Family[Choices]):
    name = "occupancy"
    pools = {  # noqa: RUF012
        "push": ("push", "put", "wr", "we", "wen", "wr_en", "write", "inc", "load"),
        "pop": ("pop", "get", "rd", "re", "ren", "rd_en", "read", "dec"),
        "level": ("level", "occupancy", "fill", "count", "cnt", "depth", "num", "total"),
        "flag": ("full", "empty", "busy", "ready", "flag", "status", "alarm", "ok"),
    }
    customary = {"push": "push", "pop": "pop", "level": "count", "flag": "full"}  # noqa: RUF012
    likely = {"push": 0.6, "pop": 0.45}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 12), random.random() < 0.5, random.random() < 0.7)

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, shows_full=True, flag_high=True)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "one_word_less": replace(choices, depth=choices.depth - 1),
            "one_word_more": replace(choices, depth=choices.depth + 1),
            "full_and_empty_swapped": replace(choices, shows_full=not choices.shows_full),
            "flag_inverted": replace(choices, flag_high=not choices.flag_high),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        inputs = Port("push", "input"), Port("pop", "input")
        return *inputs, Port("level", "output", choices.width, True), Port("flag", "output")

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        push, pop, level, flag = (f"`{spec[role]}`" for role in ("push", "pop", "level", "flag"))
        depth = spec.choices.depth
        end = depth if spec.choices.shows_full else 0
        value = "high" if spec.choices.flag_high else "low"
        return [
            say(
                f"{push} adds one to {level} unless it is {depth}, {pop} takes one unless it is 0.",
                f"{level} goes up by one with {push}, at most to {depth}, and down by one with {pop}, at least to 0.",
            ),
            say("With both it stays.", f"When both {push} and {pop} are 1 it holds."),
            say(
                f"{flag} is {value} exactly while {level} is {end}.",
                f"While {level} is {end}, and only then, {flag} is {value}.",
            ),
        ]

    def reset_sentences(self, spec: Spec[Choices]) -> list[str]:
        level = f"`{spec['level']}`"
        return [f"In reset {level} is 0.", f"With reset {level} becomes 0.", f"{level} is 0 after reset."]

    def body(self, spec: Spec[Choices]) -> list[str]:
        push, pop, level, flag = (spec[role] for role in ("push", "pop", "level", "flag"))
        width, depth = spec.choices.width, spec.choices.depth
        end = number(width, depth if spec.choices.shows_full else 0)
        one = number(width, 1)
        return [
            f"assign {flag} = {level} {'==' if spec.choices.flag_high else '!='} {end};",
            *clocked(
                spec,
                [f"{level} <= {number(width, 0)};"],
                [
                    f"if ({push} && !{pop} && {level} != {number(width, depth)}) {level} <= {level} + {one};",
                    f"if ({pop} && !{push} && {level} != {number(width, 0)}) {level} <= {level} - {one};",
                ],
            ),
        ]

    def start(self, choices: Choices) -> State:
        return {"level": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        level = state["level"]
        if inputs["push"] and not inputs["pop"] and level != choices.depth:
            return {"level": (level + 1) % 2**choices.width}
        if inputs["pop"] and not inputs["push"] and level != 0:
            return {"level": level - 1}
        return state

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        at_end = state["level"] == (choices.depth if choices.shows_full else 0)
        return {"level": state["level"], "flag": int(at_end == choices.flag_high)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        push, pop, both = {"push": 1, "pop": 0}, {"push": 0, "pop": 1}, {"push": 1, "pop": 1}
        return [both, *[push] * (choices.depth + 2), both, both, *[pop] * 3, both, push, pop]

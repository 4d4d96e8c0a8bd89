"""Counter: up or down to a given limit, then wrapping or staying."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, clocked, number


@dataclass(frozen=True)
class Choices:
    width: int
    limit: int  # the highest value
    up: bool
    wraps: bool


class Counter(Family[Choices]):
    name = "counter"
    pools = {"enable": names.ENABLES, "count": names.COUNTS}  # noqa: RUF012
    customary = {"enable": "en", "count": "count"}  # noqa: RUF012
    likely = {"enable": 0.75}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        limit = random.randint(4, 20)
        width = random.randint(limit.bit_length(), 6)
        return Choices(width, limit, random.random() < 0.5, random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return Choices(8, 255, up=True, wraps=True)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "other_direction": replace(choices, up=not choices.up),
            "wraps_instead_of_staying": replace(choices, wraps=not choices.wraps),
            "limit_one_less": replace(choices, limit=choices.limit - 1),
            "one_bit_more": replace(choices, width=choices.width + 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        return Port("enable", "input"), Port("count", "output", choices.width, True)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        enable, count, choices = f"`{spec['enable']}`", f"`{spec['count']}`", spec.choices
        first, last = self._ends(choices)
        way = "up" if choices.up else "down"
        counts = say(
            f"{count} counts {way} from {first} to {last} while {enable} is high.",
            f"When {enable} is 1, {count} goes {way} by one, from {first} to {last}.",
        )
        if choices.wraps:
            return [counts, say(f"After {last} it wraps to {first}.", f"{last} is followed by {first}.")]
        return [counts, say(f"At {last} it stays.", f"It stops at {last}.")]

    def reset_sentences(self, spec: Spec[Choices]) -> list[str]:
        first, count = self._ends(spec.choices)[0], f"`{spec['count']}`"
        return [
            f"In reset {count} is {first}.",
            f"With reset {count} becomes {first}.",
            f"{count} is {first} after reset.",
        ]

    def body(self, spec: Spec[Choices]) -> list[str]:
        enable, count, width = spec["enable"], spec["count"], spec.choices.width
        first, last = (number(width, value) for value in self._ends(spec.choices))
        at_last = first if spec.choices.wraps else count
        moved = f"{count} {'+' if spec.choices.up else '-'} {number(width, 1)}"
        return clocked(
            spec, [f"{count} <= {first};"], [f"if ({enable}) {count} <= {count} == {last} ? {at_last} : {moved};"]
        )

    def start(self, choices: Choices) -> State:
        return {"count": self._ends(choices)[0]}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        first, last = self._ends(choices)
        count = state["count"]
        if not inputs["enable"]:
            return state
        if count == last:
            return {"count": first} if choices.wraps else state
        return {"count": (count + (1 if choices.up else -1)) % 2**choices.width}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        return state

    def directed(self, choices: Choices) -> Sequence[Values]:
        return [*[{"enable": 1}] * (choices.limit + 4), {"enable": 0}, {"enable": 1}]

    @staticmethod
    def _ends(choices: Choices) -> tuple[int, int]:
        return (0, choices.limit) if choices.up else (choices.limit, 0)

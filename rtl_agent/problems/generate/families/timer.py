"""Timer: a tick for one cycle in every so many, counted while it is enabled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, bits, clocked, number


@dataclass(frozen=True)
class Choices:
    period: int
    enabled: bool

    @property
    def width(self) -> int:
        return (self.period - 1).bit_length()


class Timer(Family[Choices]):
    name = "timer"
    held_out = True
    pools = {"enable": names.ENABLES, "done": names.FLAGS}  # noqa: RUF012
    customary = {"enable": "en", "done": "done"}  # noqa: RUF012
    inside = ("passed",)
    likely = {"enable": 0.8}  # noqa: RUF012

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 10), random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return replace(choices, period=8)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "period_one_less": replace(choices, period=choices.period - 1),
            "period_one_more": replace(choices, period=choices.period + 1),
            **({"enable_left_out": replace(choices, enabled=False)} if choices.enabled else {}),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        enable = (Port("enable", "input"),) if choices.enabled else ()
        return *enable, Port("done", "output")

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        done, period = f"`{spec['done']}`", spec.choices.period
        first = say(
            f"{done} is high in one of every {period} cycles, the last one of them.",
            f"Of every {period} cycles {done} is high in the last one, else low.",
        )
        if not spec.choices.enabled:
            return [first, "The first of them follows the reset."]
        enable = f"`{spec['enable']}`"
        return [first, say(f"Only edges with {enable} high count.", f"While {enable} is 0 no edge counts.")]

    def reset_sentences(self, spec: Spec[Choices]) -> list[str]:
        return ["With reset the count starts from 0.", "After reset the count starts from 0."]

    def body(self, spec: Spec[Choices]) -> list[str]:
        width, guard = spec.choices.width, f"if ({spec['enable']}) " if spec.choices.enabled else ""
        zero, one = number(width, 0), number(width, 1)
        return [
            f"reg {bits(width)}passed;",
            f"assign {spec['done']} = passed == {number(width, spec.choices.period - 1)};",
            *clocked(spec, [f"passed <= {zero};"], [f"{guard}passed <= {spec['done']} ? {zero} : passed + {one};"]),
        ]

    def start(self, choices: Choices) -> State:
        return {"passed": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        if choices.enabled and not inputs["enable"]:
            return state
        return {"passed": (state["passed"] + 1) % choices.period}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        return {"done": int(state["passed"] == choices.period - 1)}

    def directed(self, choices: Choices) -> Sequence[Values]:
        return [{"enable": 1} if choices.enabled else {}] * (2 * choices.period + 2)

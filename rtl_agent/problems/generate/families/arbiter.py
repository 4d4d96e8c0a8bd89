"""Arbiter: one grant among the requests, lowest or highest bit first, with an override or a mask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.family import Family, State
from rtl_agent.problems.generate.spec import Port, Spec, Values, Wording, bits, clocked, number


@dataclass(frozen=True)
class Choices:
    width: int
    lowest_first: bool
    override: bool  # the second vector replaces the requests; else it masks them


class Arbiter(Family[Choices]):
    name = "arbiter"
    pools = {"requests": names.REQUESTS, "second": names.REQUESTS, "grant": names.GRANTS}  # noqa: RUF012
    customary = {"requests": "req", "second": "mask", "grant": "grant"}  # noqa: RUF012
    inside = ("pick", "i")

    def draw(self, random: Random) -> Choices:
        return Choices(random.randint(3, 8), random.random() < 0.5, random.random() < 0.5)

    def habit(self, choices: Choices) -> Choices:
        return replace(choices, width=8, lowest_first=False)

    def near_misses(self, choices: Choices) -> Mapping[str, Choices]:
        return {
            "reversed_priority": replace(choices, lowest_first=not choices.lowest_first),
            "override_and_mask_swapped": replace(choices, override=not choices.override),
            "one_bit_more": replace(choices, width=choices.width + 1),
            "one_bit_less": replace(choices, width=choices.width - 1),
        }

    def own_ports(self, choices: Choices) -> tuple[Port, ...]:
        width = choices.width
        return Port("requests", "input", width), Port("second", "input", width), Port("grant", "output", width, True)

    def behaviour(self, spec: Spec[Choices], say: Wording) -> list[str]:
        requests, second, grant = (f"`{spec[role]}`" for role in ("requests", "second", "grant"))
        end, bit = ("lowest", "least") if spec.choices.lowest_first else ("highest", "most")
        if spec.choices.override:
            chosen = say(
                f"If {second} is not 0 it is used instead of {requests}.",
                f"{second} replaces {requests} unless it is 0.",
            )
        else:
            chosen = say(
                f"Only bits of {requests} that are set in {second} are used.",
                f"Bits of {requests} that are 0 in {second} have no request.",
            )
        winner = say(
            f"{grant} becomes onehot: the {end} bit that is set wins.",
            f"{grant} has one bit set, the {bit} significant request.",
        )
        return [chosen, winner + say(" With no request it is 0.", " It is 0 when no bit is set.")]

    def body(self, spec: Spec[Choices]) -> list[str]:
        requests, second, grant = spec["requests"], spec["second"], spec["grant"]
        width = spec.choices.width
        pick = f"|{second} ? {second} : {requests}" if spec.choices.override else f"{requests} & {second}"
        down, up = f"i = {width - 1}; i >= 0; i = i - 1", f"i = 0; i < {width}; i = i + 1"
        return [
            "integer i;",
            f"wire {bits(width)}pick = {pick};",
            *clocked(
                spec,
                [f"{grant} <= {number(width, 0)};"],
                [
                    f"{grant} <= {number(width, 0)};",
                    f"for ({down if spec.choices.lowest_first else up})",
                    f"  if (pick[i]) {grant} <= {number(width, 1)} << i;",
                ],
            ),
        ]

    def start(self, choices: Choices) -> State:
        return {"grant": 0}

    def advance(self, choices: Choices, state: State, inputs: Values) -> State:
        requests, second = inputs["requests"], inputs["second"]
        pick = (second or requests) if choices.override else requests & second
        if not pick:
            return {"grant": 0}
        return {"grant": pick & -pick if choices.lowest_first else 1 << pick.bit_length() - 1}

    def outputs(self, choices: Choices, state: State, inputs: Values) -> Values:
        return state

    def directed(self, choices: Choices) -> Sequence[Values]:
        ones = 2**choices.width - 1
        quiet = 0 if choices.override else ones
        each = [{"requests": ones >> bit << bit, "second": quiet} for bit in range(choices.width)]
        return [*each, *({"requests": ones, "second": ones ^ 1 << bit} for bit in range(choices.width))]

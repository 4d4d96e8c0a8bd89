"""One generated problem before it is a `Problem`: what is right, how it is said, and what is wrong in known ways."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from rtl_agent.problems.generate.families import FAMILIES
from rtl_agent.problems.generate.family import AnyFamily
from rtl_agent.problems.generate.spec import CLOCK, HABIT, RESET, Spec
from rtl_agent.problems.generate.verilog import module_text
from rtl_agent.problems.generate.wording import STYLES, Wording, clock_and_reset, interface, opening


@dataclass(frozen=True)
class Instance:
    """`seed` decides the wording and the test vectors, never what is right."""

    spec: Spec[Any]
    seed: str

    @property
    def family(self) -> AnyFamily:
        return FAMILIES[self.spec.family]

    @property
    def target(self) -> str:
        return f"rtl/{self.spec.module}.v"

    @property
    def reference(self) -> str:
        return design(self.spec)

    @property
    def text(self) -> str:
        """The specification."""
        say = Wording(f"wording {self.seed}")
        family, spec = self.family, self.spec
        parts = [*family.behaviour(spec, say)]
        if family.clocked:
            timing = f"{clock_and_reset(spec, say)} {say(*family.reset_sentences(spec))}"
            parts = [timing, *parts] if say("before", "after") == "before" else [*parts, timing]
        shown = interface(spec, family.ports(spec.choices), say(*STYLES))
        between = " " if shown.startswith("It has") else "\n"
        return f"{opening(spec.module, say)}{between}{shown}\n" + " ".join(parts)


def design(spec: Spec[Any], hidden: tuple[str, ...] = ()) -> str:
    """The canonical design of a specification."""
    family = FAMILIES[spec.family]
    return module_text(spec, family.ports(spec.choices), family.body(spec), hidden)


def habitual_answer(instance: Instance, share: float = 1.0, random: Random | None = None) -> str:
    """What a textbook would write under this module name: asynchronous rst_n, customary names, default widths.

    With a `share` below 1 each decision is by habit or by the specification, at random: every port's name for itself,
    clock and reset together, widths and modes together.
    """
    habit = habitual_spec(instance.spec)
    return design(habit if random is None else _mixed(instance.spec, habit, share, random))


def habitual_spec(spec: Spec[Any]) -> Spec[Any]:
    family = FAMILIES[spec.family]
    customary: Mapping[str, str] = {CLOCK: "clk", RESET: "rst_n", **family.customary}
    clocking = HABIT if family.clocked else None
    return replace(spec, names=customary, choices=family.habit(spec.choices), clocking=clocking)


def _mixed(spec: Spec[Any], habit: Spec[Any], share: float, random: Random) -> Spec[Any]:
    names = {role: habit[role] if random.random() < share else name for role, name in spec.names.items()}
    timing, modes = (random.random() < share for _ in range(2))
    if RESET in names:
        names[RESET] = habit[RESET] if timing else spec[RESET]
    if len({spec.module, *names.values()}) <= len(names):  # two ports of one name compile nowhere
        names = dict(habit.names)
    return replace(
        spec,
        names=names,
        choices=habit.choices if modes else spec.choices,
        clocking=habit.clocking if timing else spec.clocking,
    )

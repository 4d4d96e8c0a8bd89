"""Instances at random, by seed: parameters and names of the two sides of the split never meet."""

import hashlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.as_problem import as_problem
from rtl_agent.problems.generate.families import FAMILIES
from rtl_agent.problems.generate.family import AnyFamily
from rtl_agent.problems.generate.instance import Instance
from rtl_agent.problems.generate.spec import CLOCK, RESET, Clocking, Spec
from rtl_agent.problems.problem import NoSuchProblems, Problem
from rtl_agent.problems.select import Split
from rtl_agent.registry import did_you_mean

HELD_OUT_SHARE = 0.2  # of the parameters, and of the names
T = TypeVar("T")

TRAINED = tuple(name for name, family in FAMILIES.items() if not family.held_out and not family.longer)
LONGER = tuple(name for name, family in FAMILIES.items() if family.longer)
HELD_OUT_WHOLE = tuple(name for name, family in FAMILIES.items() if family.held_out)


class UnknownFamily(NoSuchProblems):
    """No family has this name, or it is never trained on."""


def generate(seed: int, count: int, *, families: Sequence[str] = (), split: Split | str = Split.TRAIN) -> list[Problem]:
    """Problems, each with harness and reference; see `instances`."""
    return [as_problem(instance) for instance in instances(seed, count, families=families, split=split)]


def instances(
    seed: int, count: int, *, families: Sequence[str] = (), split: Split | str = Split.TRAIN
) -> list[Instance]:
    """`count` instances, the families in turn. By default those that are trained on, on either side of the split."""
    side = Split(split)
    chosen = tuple(families) or TRAINED
    for name in chosen:
        if name not in FAMILIES:
            raise UnknownFamily(
                f"there is no family {name!r}{did_you_mean(name, FAMILIES)}; there are: {', '.join(FAMILIES)}"
            )
        if side is Split.TRAIN and FAMILIES[name].held_out:
            raise UnknownFamily(
                f"the family {name!r} is held out whole; ask for it with split={Split.HELD_OUT.value!r}"
            )
    return [_instance(FAMILIES[chosen[at % len(chosen)]], f"{seed} {at} {side.value}", side) for at in range(count)]


def side_of(key: str) -> Split:
    """Which side of the split parameters or names are on, by their text alone."""
    digest = hashlib.sha256(f"generated {key}".encode()).digest()
    return Split.HELD_OUT if int.from_bytes(digest[:8]) < HELD_OUT_SHARE * 2**64 else Split.TRAIN


def _instance(family: AnyFamily, seed: str, side: Split) -> Instance:
    random = Random(f"instance {family.name} {seed}")
    blank = _until(side, family, lambda: _with_parameters(family, random), lambda spec: spec.parameters_key)
    spec = _until(side, family, lambda: _with_names(family, blank, random), lambda spec: spec.names_key)
    return Instance(spec, seed)


def _until(side: Split, family: AnyFamily, draw: Callable[[], Spec[Any]], key: Callable[[Spec[Any]], str]) -> Spec[Any]:
    """Draw until it is on this side. A family that is held out whole has one side only."""
    while True:
        spec = draw()
        if family.held_out or side_of(key(spec)) is side:
            return spec


def _with_parameters(family: AnyFamily, random: Random) -> Spec[Any]:
    clocking = None
    if family.clocked:
        clocking = Clocking(random.random() < 0.7, random.random() < 0.5, random.random() < 0.5)
    return Spec(family.name, "", {}, family.draw(random), clocking)


def _with_names(family: AnyFamily, spec: Spec[Any], random: Random) -> Spec[Any]:
    pools: dict[str, Sequence[str]] = dict(family.pools)
    if spec.clocking is not None:
        pools = {
            CLOCK: names.CLOCKS,
            RESET: names.RESETS_HIGH if spec.clocking.active_high else names.RESETS_LOW,
        } | pools
    module = names.draw_name(random, names.MODULES, family.inside, names.MODULE_SUFFIXES)
    drawn: dict[str, str] = {}
    for role, pool in pools.items():
        taken = (module, *family.inside, *drawn.values())
        drawn[role] = names.draw_name(random, pool, taken)
    return Spec(spec.family, module, drawn, spec.choices, spec.clocking)

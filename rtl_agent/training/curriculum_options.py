"""The options of a curriculum, and the rule by which a problem changes its pool."""

from dataclasses import dataclass
from typing import Literal, get_args

from rtl_agent.options import BadOption, option

Kind = Literal["none", "easy-first", "pools", "adaptive"]
Pool = Literal["easy", "normal", "hard"]
POOLS: tuple[Pool, ...] = get_args(Pool)
MODES = ("distill", "rl")  # supervised training samples no answers, so it has no pass rates


@dataclass(frozen=True)
class CurriculumConfig:
    """Which problems a step draws."""

    kind: Kind = option(
        "none",
        "none: every problem once in each epoch, in random order; easy-first: the same, easiest first; pools: by "
        "easy_share and hard_share; adaptive: those whose pass rate is nearest a half",
        alias="curriculum",
        choices=get_args(Kind),
        modes=MODES,
    )
    easy_share: float = option(
        0.05, "curriculum=pools: fraction of draws from the easy pool", modes=MODES, at_least=0, at_most=1
    )
    hard_share: float = option(
        0.1, "curriculum=pools: fraction of draws from the hard pool", modes=MODES, at_least=0, at_most=1
    )
    easy_from: float = option(
        1.0, "a problem whose group has this pass rate or more goes to the easy pool", modes=MODES, above=0, at_most=1
    )
    hard_to: float = option(
        0.0,
        "a problem whose group has this pass rate or less goes to the hard pool",
        modes=MODES,
        at_least=0,
        at_most=1,
    )
    others_share: float = option(
        0.05,
        "curriculum=adaptive: fraction of draws at random from all other problems",
        modes=MODES,
        at_least=0,
        at_most=1,
    )


def check_curriculum(options: CurriculumConfig, mode: str) -> None:
    """What the bounds of single fields cannot say."""
    if options.easy_share + options.hard_share > 1:
        raise BadOption("hard_share", options.hard_share, "together with easy_share it is more than 1")
    if options.hard_to >= options.easy_from:
        raise BadOption("hard_to", options.hard_to, f"it must be less than easy_from={options.easy_from:g}")
    if options.kind != "none" and mode not in MODES:
        raise BadOption("curriculum", options.kind, f"{mode} training samples no answers that could be judged")


def pool_of(solved: float, tried: float, options: CurriculumConfig) -> Pool | None:
    """Where a group's pass rate puts its problem; None where nothing was tried."""
    if not tried:
        return None
    if solved >= options.easy_from * tried:
        return "easy"
    return "hard" if solved <= options.hard_to * tried else "normal"

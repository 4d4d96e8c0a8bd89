"""Stages -> reward, by weights; `staged` is the default: format 0.1 + syntax 0.3 + all tests 1.0 = 1.4."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from rtl_agent.grading.grade import Outcome, Progress, Reward, Stage, StageName
from rtl_agent.grading.progress import MOST
from rtl_agent.grading.reward_terms import REWARD_TERMS
from rtl_agent.registry import did_you_mean


@dataclass(frozen=True)
class RewardWeights:
    """What each stage earns when it is passed.

    Args:
        format: for an answer in the right form.
        interface: for the ports and parameters that the specification names.
        syntax: for RTL that compiles.
        tests: for all tests passed; 0 skips the simulation.
        partial: tests earn by the fraction of them that passed.
        dense: tests earn by the fraction of them that passed, and by how far the others came (`grading/progress.py`).
        terms: name and weight of registered reward terms; a weight below 0 is a penalty.

    Example:
        >>> import rtl_agent as ra
        >>> ra.RewardWeights(interface=0.2).total
        1.6
    """

    format: float = 0.1
    interface: float = 0.0
    syntax: float = 0.3
    tests: float = 1.0
    partial: bool = False
    dense: bool = False
    terms: tuple[tuple[str, float], ...] = ()

    def of(self, stage: StageName) -> float:
        return float(getattr(self, stage.value))

    @property
    def total(self) -> float:
        """What a design earns that passes every stage, and has all of what its other terms reward."""
        return sum(self.of(stage) for stage in StageName) + sum(max(weight, 0.0) for _, weight in self.terms)


STAGED = RewardWeights()
GRADED = RewardWeights(interface=0.2, partial=True)
DENSE = RewardWeights(interface=0.2, dense=True)
BINARY = RewardWeights(format=0.0, syntax=0.0)

_BY_SHARE = ("partial", "dense")  # how tests earn, if not by all or nothing
PRESETS = {"staged": STAGED, "graded": GRADED, "dense": DENSE, "binary": BINARY}


def parse_weights(text: str) -> RewardWeights:
    """Reward weights from text, as `--reward` takes them.

    Args:
        text: a preset (`staged`, `graded`, `dense`, `binary`), weights by name (those left out are 0), or a preset with
            weights that override it. Names are stages (format, interface, syntax, tests), `partial`, `dense`, and
            reward terms.

    Raises:
        ValueError: a part of the text is not a weight; the message says what would be.

    Example:
        >>> import rtl_agent as ra
        >>> ra.parse_weights("format=0.1,tests=1").total
        1.1
        >>> ra.parse_weights("staged,interface=0.2").total
        1.6
    """
    first, *rest = text.split(",")
    if first.strip() in PRESETS:
        weights, parts = PRESETS[first.strip()], rest
    else:
        weights, parts = RewardWeights(format=0.0, syntax=0.0, tests=0.0), [first, *rest]
    for part in parts:
        weights = _with(weights, part)
    return weights


def _with(weights: RewardWeights, part: str) -> RewardWeights:
    """The same with what `name=number` says."""
    name, equals, value = (piece.strip() for piece in part.partition("="))
    stages = [stage.value for stage in StageName]
    try:
        number = float(value)
    except ValueError:
        number = inf
    if not equals or not isfinite(number):
        known = ", ".join([*stages, *_BY_SHARE, *REWARD_TERMS])
        raise ValueError(f"{part!r} is not a weight: give a preset ({', '.join(PRESETS)}) or name=number with {known}")
    if name in _BY_SHARE:
        flag: dict[str, Any] = {name: bool(number)}
        return replace(weights, **flag)
    if name in stages:
        if number < 0:
            raise ValueError(f"the weight of {name} is {value}: weights of stages are 0 or more")
        changed: dict[str, Any] = {name: number}
        return replace(weights, **changed)
    if name not in REWARD_TERMS:
        names = [*stages, *_BY_SHARE, *REWARD_TERMS]
        raise ValueError(f"{part!r} is not a weight: no stage or reward term has that name{did_you_mean(name, names)}")
    return replace(weights, terms=(*(term for term in weights.terms if term[0] != name), (name, number)))


def reward(
    outcome: Outcome,
    stages: Sequence[Stage],
    weights: RewardWeights,
    terms: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> Reward:
    """An invalid or erroneous grade earns nothing. A stage that could not be judged leaves the maximum."""
    judged = {stage.name: stage for stage in stages}
    parts: dict[str, float] = {}
    maximum = 0.0
    for name in StageName:
        stage = judged.get(name, Stage(name, False))
        weight = weights.of(name)
        if weight == 0 or (stage.passed is None and outcome is not Outcome.ERROR):
            continue
        maximum += weight
        if outcome in (Outcome.INVALID, Outcome.ERROR):
            parts[name.value] = 0.0
        elif weights.dense and name is StageName.TESTS and not stage.passed:
            parts[name.value] = weight * (MOST * stage.score if progress is None else progress.score)
        elif weights.partial and name is StageName.TESTS:
            parts[name.value] = weight * stage.score
        else:
            parts[name.value] = weight if stage.passed else 0.0
    for term, weight in weights.terms:
        maximum += max(weight, 0.0)
        judged_at_all = outcome not in (Outcome.INVALID, Outcome.ERROR)
        parts[term] = weight * (terms or {}).get(term, 0.0) if judged_at_all else 0.0
    return Reward(parts, round(sum(parts.values()), 6), round(maximum, 6))

"""Stages -> reward, by weights; `staged` is the default: format 0.1 + syntax 0.3 + all tests 1.0 = 1.4."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from rtl_agent.grading.grade import Outcome, Reward, Stage, StageName


@dataclass(frozen=True)
class RewardWeights:
    """What each stage earns when it is passed; with `partial`, tests earn by the part of them that passed."""

    format: float = 0.1
    interface: float = 0.0
    syntax: float = 0.3
    tests: float = 1.0
    partial: bool = False

    def of(self, stage: StageName) -> float:
        return float(getattr(self, stage.value))

    @property
    def total(self) -> float:
        """What a design earns that passes every stage."""
        return sum(self.of(stage) for stage in StageName)


STAGED = RewardWeights()
GRADED = RewardWeights(interface=0.2, partial=True)
BINARY = RewardWeights(format=0.0, syntax=0.0)

PRESETS = {"staged": STAGED, "graded": GRADED, "binary": BINARY}


def parse_weights(text: str) -> RewardWeights:
    """A preset's name, or `format=0.1,interface=0.2,syntax=0.3,tests=1,partial=1`; weights left out are 0."""
    if text in PRESETS:
        return PRESETS[text]
    known = {field.name for field in fields(RewardWeights)}
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        try:
            if not equals or name not in known:
                raise ValueError
            weights[name] = float(value)
        except ValueError:
            presets = ", ".join(PRESETS)
            raise ValueError(
                f"{part!r} is no weight: name a preset ({presets}) or give {', '.join(sorted(known))} as name=number"
            ) from None
    partial = bool(weights.pop("partial", 0.0))
    if any(not 0 <= weight < float("inf") for weight in weights.values()):
        raise ValueError("weights are numbers of 0 or more")
    return RewardWeights(**{**dict.fromkeys(known - {"partial"}, 0.0), **weights}, partial=partial)


def reward(outcome: Outcome, stages: Sequence[Stage], weights: RewardWeights) -> Reward:
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
        elif weights.partial and name is StageName.TESTS:
            parts[name.value] = weight * stage.score
        else:
            parts[name.value] = weight if stage.passed else 0.0
    return Reward(parts, round(sum(parts.values()), 6), round(maximum, 6))

"""Samples -> numbers: pass@k by both formulas with intervals, rewards and their parts, whole and by group."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rtl_agent.envs.episode import RATES, grade_metrics
from rtl_agent.evaluation.samples import Sample
from rtl_agent.evaluation.statistics import cvdp_pass_at_k, standard_error, unbiased_pass_at_k, wilson
from rtl_agent.grading import Grade
from rtl_agent.problems import Problem


@dataclass(frozen=True)
class PassAtK:
    """Means over the problems that have k samples or more."""

    k: int
    unbiased: float
    cvdp: float
    low: float  # 95 %, of the unbiased one, over problems
    high: float
    problems: int


@dataclass(frozen=True)
class Summary:
    """Of some problems' samples. Means are over problems first, so that one with fewer samples weighs the same.

    Whoever could read the harness was not measured: such samples have outcomes, but no pass@k and no rates.
    """

    problems: int
    samples: int
    passed: int
    pass_at: tuple[PassAtK, ...]
    reward: float
    reward_error: float | None  # standard error over problems
    reward_parts: Mapping[str, float]
    rates: Mapping[str, float]  # share of samples whose format, interface, syntax was right; tests passed
    outcomes: Mapping[str, int]
    cut_off: int
    turns: float  # mean of an episode
    ends: Mapping[str, int]  # why episodes of several turns were over

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def summarise(samples: Sequence[Sample], ks: Sequence[int]) -> Summary:
    by_problem: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_problem[sample.episode.problem_id].append(sample)
    groups = list(by_problem.values())
    rewards = [_mean([one.episode.reward for one in group]) for group in groups]
    names = dict.fromkeys(name for one in samples for name in one.episode.reward_parts)
    scored = [one for one in samples if one.episode.is_scored]
    metrics = [grade_metrics(Grade.from_json(one.episode.grade)) for one in scored]
    return Summary(
        problems=len(groups),
        samples=len(samples),
        passed=sum(one.passed for one in samples),
        pass_at=tuple(found for k in ks if scored == list(samples) and (found := _pass_at(groups, k)) is not None),
        reward=_mean(rewards),
        reward_error=standard_error(rewards),
        reward_parts={
            name: _mean([_mean([one.episode.reward_parts.get(name, 0.0) for one in group]) for group in groups])
            for name in names
        },
        rates={
            rate: _mean([float(one[rate]) for one in metrics if rate in one])
            for rate in RATES.values()
            if any(rate in one for one in metrics)
        },
        outcomes=dict(sorted(Counter(str(one.episode.grade["outcome"]) for one in samples).items())),
        cut_off=sum(one.episode.cut_off for one in samples),
        turns=_mean([float(len(one.episode.turns) or 1) for one in samples]),
        ends=dict(sorted(Counter(one.episode.end_reason for one in samples if one.episode.end_reason).items())),
    )


def by_group(
    samples: Sequence[Sample], problems: Sequence[Problem], ks: Sequence[int]
) -> dict[str, dict[str, Summary]]:
    """Summaries by category, by difficulty and by family."""
    known = {problem.id: problem for problem in problems}
    names: dict[str, Callable[[Problem], str]] = {
        "category": lambda problem: problem.category,
        "difficulty": lambda problem: problem.difficulty,
        "family": lambda problem: problem.family,
    }
    found: dict[str, dict[str, Summary]] = {}
    for name, value in names.items():
        parts: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            parts[value(known[sample.episode.problem_id])].append(sample)
        found[name] = {part: summarise(parts[part], ks) for part in sorted(parts)}
    return found


def usual_ks(samples: int) -> tuple[int, ...]:
    """1, and as many as there are samples."""
    return (1,) if samples == 1 else (1, samples)


def _pass_at(groups: Sequence[Sequence[Sample]], k: int) -> PassAtK | None:
    counts = [(len(group), sum(one.passed for one in group)) for group in groups if len(group) >= k]
    if not counts:
        return None
    unbiased = _mean([unbiased_pass_at_k(n, c, k) for n, c in counts])
    interval = wilson(unbiased, len(counts))
    cvdp = _mean([cvdp_pass_at_k(n, c, k) for n, c in counts])
    return PassAtK(k, unbiased, cvdp, interval.low, interval.high, len(counts))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0

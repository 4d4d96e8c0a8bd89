"""Samples -> numbers: pass@k by both formulas with intervals, rewards and their parts, whole and by group."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rtl_agent.envs.episode import RATES, grade_metrics
from rtl_agent.evaluation.samples import EvaluationSample
from rtl_agent.problems import Problem
from rtl_agent.training.rollouts import GROUPINGS

Z_95 = 1.959964  # 95 % of a normal distribution is within so many standard deviations


def unbiased_pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that k of these samples, drawn without replacement, have a pass among them."""
    _check(samples, passed, k)
    if k > samples:
        raise ValueError(f"pass@{k} cannot be estimated without bias from {samples} samples")
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def cvdp_pass_at_k(samples: int, passed: int, k: int) -> float:
    """As CVDP's run_samples.py computes it: drawn with replacement. For k above 1 it is too low for few samples."""
    _check(samples, passed, k)
    return 1.0 - (1.0 - passed / samples) ** k


def _check(samples: int, passed: int, k: int) -> None:
    if not (samples >= 1 and 0 <= passed <= samples and k >= 1):
        raise ValueError(f"{passed} of {samples} samples passed, k = {k}: that cannot be")


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def wilson(mean: float, problems: int) -> Interval:
    """95 % for a mean over problems of values between 0 and 1.

    Wilson's interval is for shares, but a value between 0 and 1 varies at most as much as a coin with the same mean,
    so for pass rates of several samples, and for pass@k, it is wide enough and never degenerate at 0 % or 100 %, where
    resampling the problems gives an interval of no width. Problems count, not samples: five answers to one problem
    are no five problems.
    """
    if problems < 1:
        raise ValueError("no problem, no interval")
    square = Z_95**2
    middle = (mean + square / (2 * problems)) / (1 + square / problems)
    half = Z_95 / (1 + square / problems) * math.sqrt(mean * (1 - mean) / problems + square / (4 * problems**2))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def standard_error(values: list[float]) -> float | None:
    """Of the mean of these; None for a single one."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


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


def summarise(samples: Sequence[EvaluationSample], ks: Sequence[int]) -> Summary:
    by_problem: dict[str, list[EvaluationSample]] = defaultdict(list)
    for sample in samples:
        by_problem[sample.episode.problem_id].append(sample)
    groups = list(by_problem.values())
    rewards = [_mean([one.episode.reward for one in group]) for group in groups]
    names = dict.fromkeys(name for one in samples for name in one.episode.reward_parts)
    scored = [one for one in samples if one.episode.is_scored]
    metrics = [grade_metrics(one.episode.grade) for one in scored if one.episode.grade]
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
        outcomes=dict(sorted(Counter(one.episode.grade.outcome.value for one in samples if one.episode.grade).items())),
        cut_off=sum(one.episode.cut_off for one in samples),
        turns=_mean([float(len(one.episode.turns) or 1) for one in samples]),
        ends=dict(sorted(Counter(one.episode.end_reason for one in samples if one.episode.end_reason).items())),
    )


def by_group(
    samples: Sequence[EvaluationSample], problems: Sequence[Problem], ks: Sequence[int]
) -> dict[str, dict[str, Summary]]:
    """Summaries by category, by difficulty and by family."""
    known = {problem.id: problem for problem in problems}
    found: dict[str, dict[str, Summary]] = {}
    for name, value in GROUPINGS.items():
        parts: dict[str, list[EvaluationSample]] = defaultdict(list)
        for sample in samples:
            parts[value(known[sample.episode.problem_id])].append(sample)
        found[name] = {part: summarise(parts[part], ks) for part in sorted(parts)}
    return found


def usual_ks(samples: int) -> tuple[int, ...]:
    """1, and as many as there are samples."""
    return (1,) if samples == 1 else (1, samples)


def _pass_at(groups: Sequence[Sequence[EvaluationSample]], k: int) -> PassAtK | None:
    counts = [(len(group), sum(one.passed for one in group)) for group in groups if len(group) >= k]
    if not counts:
        return None
    unbiased = _mean([unbiased_pass_at_k(n, c, k) for n, c in counts])
    interval = wilson(unbiased, len(counts))
    cvdp = _mean([cvdp_pass_at_k(n, c, k) for n, c in counts])
    return PassAtK(k, unbiased, cvdp, interval.low, interval.high, len(counts))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0

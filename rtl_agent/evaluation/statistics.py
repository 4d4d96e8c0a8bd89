"""pass@k by two formulas, and an interval for what is averaged over problems."""

import math
from dataclasses import dataclass

Z_95 = 1.959964  # 95 % of a normal distribution is within so many standard deviations


def unbiased_pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that k of these samples, drawn without putting back, have a pass among them."""
    _check(samples, passed, k)
    if k > samples:
        raise ValueError(f"pass@{k} cannot be estimated without bias from {samples} samples")
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def cvdp_pass_at_k(samples: int, passed: int, k: int) -> float:
    """As CVDP's run_samples.py reckons: drawn with putting back. For k above 1 it is too low when samples are few."""
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

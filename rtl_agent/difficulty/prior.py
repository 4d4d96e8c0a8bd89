"""A pass rate before the first try: a logistic regression on what can be seen of a problem, with its error.

Few problems and a dozen features: maximum a posteriori by Newton's method in plain Python. The penalty pulls each
weight towards a guess (longer, wider and tagged harder is harder): with nothing known the guess stands, and little data
moves it little.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from rtl_agent.difficulty.pass_rates import Tries
from rtl_agent.grading.interface import expected_interface
from rtl_agent.problems import Problem, problem_digest

SIZES = ("specification", "reference", "targets", "ports")
INTERCEPT = "(all)"
# With nothing known: half as likely in odds for each standard deviation of size, and by the set's own tag.
GUESS = {**dict.fromkeys(SIZES, -0.3), "difficulty=easy": 0.5, "difficulty=hard": -0.5}
PENALTY = 1.0  # of a weight's distance to its guess, squared, in nats; the intercept has a quarter of it
MOST_TRIES = 8  # that count of one problem: more of the same say little more of others
MOST_PROBLEMS = 600  # of the newest: 600 take about 1 s with their folds
FOLDS = 10
_PORT = re.compile(r"\b(?:input|output|inout)\b")
_STEPS = 12

Row = Mapping[str, float]


def seen_of(problem: Problem) -> dict[str, float]:
    """Sizes as logarithms, and each tag as a feature of its own."""
    reference = "".join((problem.reference or {}).values())
    ports = len(_PORT.findall(reference))
    if not reference:
        ports = sum(len(one.ports) for one in expected_interface(problem.harness))
    asked = len(problem.prompt) + sum(map(len, problem.context.values()))
    found = {"specification": asked, "reference": len(reference), "targets": len(problem.targets), "ports": ports}
    tags = {"category": problem.category, "difficulty": problem.difficulty, "family": problem.family}
    return {name: math.log1p(size) for name, size in found.items()} | {f"{k}={v}": 1.0 for k, v in tags.items()}


@dataclass(frozen=True)
class Prior:
    """What was fitted. `error` is the mean distance to the pass rate of a problem that was held out of the fit."""

    weights: Mapping[str, float]
    scales: Mapping[str, tuple[float, float]]  # mean and standard deviation of each size
    problems: int = 0  # that were tried, and fitted on
    tries: int = 0
    error: float | None = None  # None: too few problems to hold any out
    constant_error: float | None = None  # of the mean pass rate of the others, said of every problem

    def rate(self, problem: Problem) -> float:
        return self.rate_of(seen_of(problem))

    def rate_of(self, seen: Row) -> float:
        return _logistic(sum(self.weights.get(name, 0.0) * value for name, value in _scaled(seen, self.scales).items()))

    def __str__(self) -> str:
        if not self.problems:
            return "prior: a guess by size and difficulty tag, as no problem was tried yet"
        counted = f"{self.problems} problem{'s' if self.problems != 1 else ''} with {self.tries} tries"
        if self.error is None or self.constant_error is None:
            return f"prior: fitted on {counted}, too few to state its error"
        return (
            f"prior: fitted on {counted}; off by {self.error:.3f} on average for problems held out of the fit "
            f"(their mean pass rate: {self.constant_error:.3f})"
        )


def fit_prior(problems: Sequence[Problem], tries: Mapping[str, Tries]) -> Prior:
    """Of the problems that were tried, by their digests; sizes are compared within `problems`."""
    rows = [(seen_of(problem), tries.get(problem_digest(problem))) for problem in problems]
    sizes = {name: [seen[name] for seen, _ in rows] for name in SIZES}
    scales = {name: (fmean(found), pstdev(found) or 1.0) for name, found in sizes.items() if found}
    tried = [(_scaled(seen, scales), one) for seen, one in rows if one is not None and one.tried]
    tried = sorted(tried, key=lambda pair: -pair[1].last)[:MOST_PROBLEMS]
    error, constant = _errors(tried)
    return Prior(_fit(tried), scales, len(tried), sum(one.tried for _, one in tried), error, constant)


def _scaled(seen: Row, scales: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    known = {name: (seen[name] - mean) / deviation for name, (mean, deviation) in scales.items() if name in seen}
    return {**seen, **known, INTERCEPT: 1.0}


def _fit(rows: Sequence[tuple[Row, Tries]]) -> dict[str, float]:
    """Newton's method: the posterior has one maximum."""
    names = sorted({name for row, _ in rows for name in row} | set(GUESS))
    place = {name: at for at, name in enumerate(names)}
    guess = [GUESS.get(name, 0.0) for name in names]
    penalty = [PENALTY / 4 if name == INTERCEPT else PENALTY for name in names]
    weights = list(guess)
    data = [([(place[name], value) for name, value in row.items() if value], *_counted(one)) for row, one in rows]
    for _ in range(_STEPS if rows else 0):
        slope = [-pull * (now - start) for pull, now, start in zip(penalty, weights, guess, strict=True)]
        curve = [[pull if at == to else 0.0 for to in range(len(names))] for at, pull in enumerate(penalty)]
        for features, rate, count in data:
            said = _logistic(sum(weights[at] * value for at, value in features))
            bend = count * said * (1 - said)
            for at, value in features:
                slope[at] += count * (rate - said) * value
                for to, other in features:
                    curve[at][to] += bend * value * other
        step = _solved(curve, slope)
        longest = max(map(abs, step), default=0.0)
        weights = [now + by * min(1.0, 4.0 / max(longest, 1e-9)) for now, by in zip(weights, step, strict=True)]
        if longest < 1e-6:
            break
    return dict(zip(names, weights, strict=True))


def _counted(one: Tries) -> tuple[float, float]:
    """Pass rate, and how many tries it counts for."""
    return one.solved / one.tried, float(min(one.tried, MOST_TRIES))


def _errors(rows: Sequence[tuple[Row, Tries]]) -> tuple[float | None, float | None]:
    """Mean absolute errors, of the fit and of a constant, over problems that each was made without."""
    if len(rows) < FOLDS:
        return None, None
    fitted, constant = [], []
    for fold in range(FOLDS):
        others = [row for at, row in enumerate(rows) if at % FOLDS != fold]
        weights, mean = _fit(others), fmean(one.solved / one.tried for _, one in others)
        for seen, one in rows[fold::FOLDS]:
            said = _logistic(sum(weights.get(name, 0.0) * value for name, value in seen.items()))
            fitted.append(abs(said - one.solved / one.tried))
            constant.append(abs(mean - one.solved / one.tried))
    return fmean(fitted), fmean(constant)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is positive definite, so no pivot is 0."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for at in range(size):
        pivot = rows[at]
        for below in range(at + 1, size):
            if factor := rows[below][at] / pivot[at]:
                rows[below] = [mine - factor * theirs for mine, theirs in zip(rows[below], pivot, strict=True)]
    found = [0.0] * size
    for at in reversed(range(size)):
        known = sum(rows[at][to] * found[to] for to in range(at + 1, size))
        found[at] = (rows[at][size] - known) / rows[at][at]
    return found


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))

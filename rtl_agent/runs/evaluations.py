"""Evaluations by their JSON: two of them compared problem by problem, several in one table, a form for leaderboards.

What is compared is the pass rate of each problem. McNemar's exact test asks how often chance alone, which of two
answers to a problem is whose, gives a difference as large as the one seen. With several answers to a problem the same
question is asked of the problem's two pass rates, by enumerating all exchanges: with one answer each it is McNemar's
test to the last digit.
"""

import json
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rtl_agent.runs.files import RunError, cannot

DRAWS = 4000  # of the bootstrap
_SEED = 20_260_101
_MOST_SUMS = 20_000_000  # steps of the exact test; 2,000 problems with 5 and 8 answers need less


@dataclass(frozen=True)
class ProblemResult:
    """What an evaluation found at one problem."""

    id: str
    digest: str
    family: str
    samples: int
    passed: int

    @property
    def rate(self) -> Fraction:
        return Fraction(self.passed, self.samples)


@dataclass(frozen=True)
class StoredEvaluation:
    """The JSON of `rtl-agent eval`, as far as it is compared."""

    path: Path
    settings: Mapping[str, Any]
    is_score: bool
    summary: Mapping[str, Any]
    problems: tuple[ProblemResult, ...]
    versions: Mapping[str, str]

    @property
    def model(self) -> str:
        return str(self.settings.get("model", ""))

    @property
    def source(self) -> str:
        return str(self.settings.get("problems", ""))

    @property
    def level(self) -> str:
        return str(self.settings.get("episode", {}).get("level", ""))


def read_evaluation(path: Path) -> StoredEvaluation:
    """RunError if it is not the JSON of an evaluation."""
    try:
        data = json.loads(path.read_bytes())
        problems = tuple(
            ProblemResult(
                str(one["id"]), str(one["digest"]), str(one["family"]), _count(one["samples"]), _count(one["passed"])
            )
            for one in data["problems"]
        )
        if any(one.passed > one.samples for one in problems):
            raise ValueError("more answers passed than were given")
        if len({one.id for one in problems}) != len(problems):
            raise ValueError("a problem is listed twice")
        settings, summary = dict(data["settings"]), dict(data["summary"])
        dict(settings.get("episode", {}))
        return StoredEvaluation(
            path, settings, bool(data["is_score"]), summary, problems, dict(data.get("versions", {}))
        )
    except OSError as error:
        raise cannot("read", path, error) from error
    except RecursionError as error:
        raise RunError(f"{path} is not the JSON of `rtl-agent eval`: it is nested too deeply") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        hint = "; give the .json, the .jsonl beside it has the answers" if path.suffix == ".jsonl" else ""
        raise RunError(f"{path} is not the JSON of `rtl-agent eval` ({type(error).__name__}: {error}){hint}") from error


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1_000_000:
        raise ValueError(f"{value!r} is not a number of answers")
    return value


@dataclass(frozen=True)
class PairedComparison:
    """Two models on the same problems. Differences are b - a."""

    problems: int
    pass_a: float
    pass_b: float
    difference: float
    low: float  # 95 %, bootstrap over problems
    high: float
    family_low: float  # the same over families: problems of one family are alike
    family_high: float
    families: int
    better_a: int  # problems that a passes more often
    better_b: int
    p: float  # McNemar's, exact; of its generalisation with several answers
    samples_a: int
    samples_b: int
    only_in: tuple[str, ...] = ()  # problems that one side alone has, left out
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare_evaluations(a: StoredEvaluation, b: StoredEvaluation, *, common: bool = False) -> PairedComparison:
    """RunError if they did not ask the same; `common` takes the problems that both have."""
    for one in (a, b):
        if not one.is_score:
            raise RunError(f"{one.path} is no score: at level open the model could read the harness")
    if a.level != b.level:
        raise RunError(f"results of two levels of information do not compare: {a.level} and {b.level}")
    of_a, of_b = ({one.id: one for one in side.problems if one.samples} for side in (a, b))
    both = [name for name in of_a if name in of_b and of_a[name].digest == of_b[name].digest]
    odd = tuple(sorted((of_a.keys() | of_b.keys()) - set(both)))
    if odd and not common:
        changed = [name for name in odd if name in of_a and name in of_b]
        why = f"{changed[0]} has changed between them" if changed else f"only one of them has {odd[0]}"
        raise RunError(
            f"{a.path.name} and {b.path.name} do not have the same problems: {len(odd)} differ, {why}; "
            "--common compares those that both have"
        )
    if not both:
        raise RunError(f"{a.path.name} and {b.path.name} have no problem in common")
    pairs = [(of_a[name], of_b[name]) for name in both]
    differences = [second.rate - first.rate for first, second in pairs]
    groups: dict[str, list[Fraction]] = defaultdict(list)
    for (first, _), difference in zip(pairs, differences, strict=True):
        groups[first.family].append(difference)
    low, high = bootstrap([[one] for one in differences])
    family_low, family_high = bootstrap(list(groups.values()))
    return PairedComparison(
        problems=len(pairs),
        pass_a=_mean([first.rate for first, _ in pairs]),
        pass_b=_mean([second.rate for _, second in pairs]),
        difference=_mean(differences),
        low=low,
        high=high,
        family_low=family_low,
        family_high=family_high,
        families=len(groups),
        better_a=sum(one < 0 for one in differences),
        better_b=sum(one > 0 for one in differences),
        p=exchange_test(differences),
        samples_a=sum(first.samples for first, _ in pairs),
        samples_b=sum(second.samples for _, second in pairs),
        only_in=odd,
        notes=tuple(_notes(a, b)),
    )


def _notes(a: StoredEvaluation, b: StoredEvaluation) -> list[str]:
    """What else differs and could be the reason of a difference."""
    found = [
        f"{name}: {a.settings.get(name)} and {b.settings.get(name)}"
        for name in ("grading", "temperature", "texts", "reward", "tools")
        if a.settings.get(name) != b.settings.get(name)
    ]
    of_a, of_b = dict(a.settings.get("episode", {})), dict(b.settings.get("episode", {}))
    found += [f"{name}: {of_a.get(name)} and {of_b.get(name)}" for name in of_a if of_a.get(name) != of_b.get(name)]
    return found


def exchange_test(differences: Sequence[Fraction]) -> float:
    """The share of all exchanges of the two sides, problem by problem, whose sum is at least as far from 0.

    Two-sided and exact, by counting sums. Of differences that are -1, 0 or 1 it is McNemar's exact test.
    """
    scale = math.lcm(*(one.denominator for one in differences)) if differences else 1
    steps = [abs(int(one * scale)) for one in differences if one]
    seen = abs(int(sum(differences) * scale))
    if not steps:
        return 1.0
    if len(steps) * sum(steps) > _MOST_SUMS:
        return _drawn_exchanges(steps, seen)
    # Position i is how many exchanges have the sum 2 i - (sum of steps so far).
    ways = [1]
    for step in steps:
        longer = ways + [0] * step
        for index, count in enumerate(ways):
            longer[index + step] += count
        ways = longer
    total = sum(steps)
    far = sum(count for index, count in enumerate(ways) if abs(2 * index - total) >= seen)
    return float(Fraction(far, 2 ** len(steps)))


def _drawn_exchanges(steps: Sequence[int], seen: int) -> float:
    draw = random.Random(_SEED)
    far = sum(abs(sum(step if draw.random() < 0.5 else -step for step in steps)) >= seen for _ in range(DRAWS))
    return (far + 1) / (DRAWS + 1)


def bootstrap(groups: Sequence[Sequence[Fraction]]) -> tuple[float, float]:
    """95 % of the mean, by drawing whole groups with replacement; the same numbers every time."""
    draw = random.Random(_SEED)
    sums = [(float(sum(group)), len(group)) for group in groups]
    means = []
    for _ in range(DRAWS):
        drawn = draw.choices(sums, k=len(sums))
        means.append(sum(one for one, _ in drawn) / sum(size for _, size in drawn))
    means.sort()
    return means[round(0.025 * (DRAWS - 1))], means[round(0.975 * (DRAWS - 1))]


def _mean(values: Sequence[Fraction]) -> float:
    return float(sum(values, Fraction(0)) / len(values)) if values else 0.0


def leaderboard(found: Sequence[StoredEvaluation]) -> dict[str, Any]:
    """Models by sets, in the shape of lm-evaluation-harness' results: tasks with metrics, errors, configs, counts."""
    results: dict[str, dict[str, Any]] = {}
    configs, counts = {}, {}
    for one in found:
        if not one.is_score:
            raise RunError(f"{one.path} is no score: at level open the model could read the harness")
        task = f"{one.model}/{one.source}" if len({other.model for other in found}) > 1 else one.source
        if task in results:
            raise RunError(f"{one.path}: another of these results has the same model and problems")
        metrics: dict[str, Any] = {"alias": one.source}
        for at in one.summary.get("pass_at", ()):
            metrics[f"pass@{at['k']},unbiased"] = at["unbiased"]
            metrics[f"pass@{at['k']},cvdp"] = at["cvdp"]
            metrics[f"pass@{at['k']},interval_95"] = [at["low"], at["high"]]
        metrics["reward,none"] = one.summary.get("reward")
        metrics["reward_stderr,none"] = one.summary.get("reward_error")
        results[task] = metrics
        configs[task] = {"model": one.model, "problems": one.source, "level": one.level, **_settings(one)}
        counts[task] = {"original": len(one.problems), "effective": sum(bool(other.samples) for other in one.problems)}
    models = list(dict.fromkeys(one.model for one in found))
    return {
        "model_name": models[0] if len(models) == 1 else models,
        "results": results,
        "configs": configs,
        "n-samples": counts,
        "versions": dict(found[0].versions) if found else {},
        "higher_is_better": {task: {"pass@1": True, "reward": True} for task in results},
    }


def _settings(one: StoredEvaluation) -> dict[str, Any]:
    kept = ("weights", "temperature", "seed", "reward", "grading", "tools", "episode")
    return {name: one.settings[name] for name in kept if name in one.settings}

"""One pass over a run's episodes: rates for each problem, and the best and worst answers."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rtl_agent.report.episode import Shown, shown
from rtl_agent.report.words import counted

Order = Callable[[Shown], tuple[float, int]]


@dataclass
class Tally:
    """Sums over some episodes of a problem."""

    episodes: int = 0
    passes: int = 0
    rewards: list[float] = field(default_factory=list)

    def add(self, episode: Shown) -> None:
        self.episodes += 1
        self.passes += episode.passed
        if episode.reward is not None:
            self.rewards.append(episode.reward)

    @property
    def pass_rate(self) -> float | None:
        return self.passes / self.episodes if self.episodes else None

    @property
    def mean_reward(self) -> float | None:
        return sum(self.rewards) / len(self.rewards) if self.rewards else None


@dataclass(frozen=True)
class ProblemRates:
    """A problem over the whole run, and in the first and last third of its steps."""

    problem_id: str
    family: str
    all: Tally
    first_third: Tally
    last_third: Tally


@dataclass(frozen=True)
class Digest:
    """`errors` counts episodes that were lost or could not be judged; they are in no rate."""

    problems: tuple[ProblemRates, ...]
    best: tuple[Shown, ...]
    worst: tuple[Shown, ...]
    errors: int


def by_family(problems: Iterable[ProblemRates]) -> list[ProblemRates]:
    """Sums over the problems of each family: of hundreds of problems nobody reads every line."""
    families: dict[str, list[ProblemRates]] = defaultdict(list)
    for problem in problems:
        families[problem.family].append(problem)
    return [
        ProblemRates(
            counted(len(own), "problem"),
            name,
            _total(one.all for one in own),
            _total(one.first_third for one in own),
            _total(one.last_third for one in own),
        )
        for name, own in sorted(families.items())
    ]


def digest(episodes: Iterable[dict[str, Any]], examples: int = 3) -> Digest:
    families: dict[str, str] = {}
    by_step: dict[str, dict[int, Tally]] = defaultdict(lambda: defaultdict(Tally))
    high: dict[str, list[Shown]] = defaultdict(list)
    low: dict[str, list[Shown]] = defaultdict(list)
    errors = 0
    for record in episodes:
        episode = shown(record)
        if not episode.counts:
            errors += 1
            continue
        name = episode.problem_id
        families.setdefault(name, episode.family)
        by_step[name][episode.step].add(episode)
        if episode.reward is not None:
            high[name] = sorted([*high[name], episode], key=_best_first)[:examples]
            low[name] = sorted([*low[name], episode], key=_worst_first)[: 2 * examples]
    first, last = _thirds(sorted({step for steps in by_step.values() for step in steps}))
    best = _spread(high, _best_first, examples)
    worst = [
        episode for episode in _spread(low, _worst_first, 2 * examples) if not any(episode is good for good in best)
    ]
    return Digest(
        problems=tuple(
            ProblemRates(name, families[name], _sum(steps, set(steps)), _sum(steps, first), _sum(steps, last))
            for name, steps in sorted(by_step.items())
        ),
        best=tuple(best),
        worst=tuple(worst[:examples]),
        errors=errors,
    )


def _best_first(episode: Shown) -> tuple[float, int]:
    """Of equals the latest: it shows what the run came to."""
    return (-(episode.reward or 0.0), -episode.step)


def _worst_first(episode: Shown) -> tuple[float, int]:
    return (episode.reward or 0.0, -episode.step)


def _spread(candidates: dict[str, list[Shown]], order: Order, count: int) -> list[Shown]:
    """Of equal rewards first one of each problem, then a second of each."""
    ranked = [(rank, episode) for own in candidates.values() for rank, episode in enumerate(own)]
    ranked.sort(key=lambda entry: (order(entry[1])[0], entry[0], order(entry[1])[1]))
    return [episode for _, episode in ranked[:count]]


def _thirds(steps: list[int]) -> tuple[set[int], set[int]]:
    third = len(steps) // 3
    return set(steps[:third]), set(steps[len(steps) - third :])


def _sum(steps: dict[int, Tally], wanted: set[int]) -> Tally:
    return _total(tally for step, tally in steps.items() if step in wanted)


def _total(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.episodes += tally.episodes
        total.passes += tally.passes
        total.rewards += tally.rewards
    return total

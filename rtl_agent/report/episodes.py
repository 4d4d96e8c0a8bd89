"""A run's episodes in one pass: rates for each problem; the best and worst answers, with what was wrong with them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rtl_agent.grading import Diagnostic, TestResult
from rtl_agent.report.markup import Child, Markup, counted, cut, join, number, percent, table, tag
from rtl_agent.runs import RolloutRecord

Order = Callable[[RolloutRecord], tuple[float, int]]

_MOST_ITEMS = 20
_MOST_UNFOLDED = 16  # problems
_HEADS = (
    "episodes",
    "pass rate",
    "pass rate, first third",
    "pass rate, last third",
    "reward",
    "reward, first third",
    "reward, last third",
)


@dataclass
class Tally:
    """Sums over some episodes of a problem."""

    episodes: int = 0
    passes: int = 0
    rewards: list[float] = field(default_factory=list)

    def add(self, rollout: RolloutRecord) -> None:
        self.episodes += 1
        self.passes += rollout.passed
        if rollout.reward is not None:
            self.rewards.append(rollout.reward)

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
    best: tuple[RolloutRecord, ...]
    worst: tuple[RolloutRecord, ...]
    errors: int

    @property
    def episodes(self) -> int:
        return sum(problem.all.episodes for problem in self.problems)


def digest(rollouts: Iterable[RolloutRecord], examples: int = 3) -> Digest:
    families: dict[str, str] = {}
    by_step: dict[str, dict[int, Tally]] = defaultdict(lambda: defaultdict(Tally))
    high: dict[str, list[RolloutRecord]] = defaultdict(list)
    low: dict[str, list[RolloutRecord]] = defaultdict(list)
    errors = 0
    for rollout in rollouts:
        if not rollout.counts:
            errors += 1
            continue
        name = rollout.episode.problem_id
        families.setdefault(name, rollout.episode.family)
        by_step[name][rollout.step].add(rollout)
        if rollout.reward is not None:
            high[name] = sorted([*high[name], rollout], key=_best_first)[:examples]
            low[name] = sorted([*low[name], rollout], key=_worst_first)[: 2 * examples]
    first, last = _thirds(sorted({step for steps in by_step.values() for step in steps}))
    best = _spread(high, _best_first, examples)
    worst = [
        rollout for rollout in _spread(low, _worst_first, 2 * examples) if not any(rollout is good for good in best)
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


def _best_first(rollout: RolloutRecord) -> tuple[float, int]:
    """Of equals the latest: it shows what the run came to."""
    return (-(rollout.reward or 0.0), -rollout.step)


def _worst_first(rollout: RolloutRecord) -> tuple[float, int]:
    return (rollout.reward or 0.0, -rollout.step)


def _spread(candidates: dict[str, list[RolloutRecord]], order: Order, count: int) -> list[RolloutRecord]:
    """Of equal rewards first one of each problem, then a second of each."""
    ranked = [(rank, rollout) for own in candidates.values() for rank, rollout in enumerate(own)]
    ranked.sort(key=lambda entry: (order(entry[1])[0], entry[0], order(entry[1])[1]))
    return [rollout for _, rollout in ranked[:count]]


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


def problems_view(title: str, found: Digest) -> Markup | None:
    """Families first where there are many problems, and every problem in a line; of very many the problems folded."""
    if not found.problems and not found.errors:
        return None
    lost = f"{counted(found.errors, 'episode')} left out of every rate: lost, or not graded (internal error)."
    folded = len(found.problems) > _MOST_UNFOLDED
    every = tag(
        "details",
        tag("summary", counted(len(found.problems), "problem")),
        _rates("problem", found.problems),
        open=None if folded else "",
    )
    return join(
        tag("h2", title),
        tag("p", lost, class_="soft") if found.errors else None,
        _rates("problems", by_family(found.problems)) if folded else None,
        every if found.problems else None,
    )


def _rates(what: str, problems: Sequence[ProblemRates]) -> Markup:
    def cells(one: ProblemRates) -> list[Child]:
        parts = (one.all, one.first_third, one.last_third)
        rates = [percent(part.pass_rate, 0) for part in parts]
        return [
            one.problem_id,
            one.family,
            f"{one.all.episodes:,}",
            *rates,
            *(number(part.mean_reward) for part in parts),
        ]

    return table((what, "family", *_HEADS), map(cells, problems), names=2, class_="rates")


def examples(found: Digest) -> Markup:
    parts = []
    for title, rollouts in (("Best", found.best), ("Worst", found.worst)):
        if rollouts:
            parts += [tag("h2", f"{title} answers in training"), *(_answer(rollout) for rollout in rollouts)]
    return join(*parts)


def outcome(rollout: RolloutRecord) -> Markup:
    """`passed, reward 1.4`, the first word coloured."""
    word = tag("span", rollout.outcome or "not graded", class_="good" if rollout.passed else "bad")
    return join(word, ", no reward" if rollout.reward is None else f", reward {rollout.reward:.3g}")


def _answer(rollout: RolloutRecord) -> Markup:
    episode, grade = rollout.episode, rollout.grade
    parts = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in episode.reward_parts.items())
    cut_off = ". The answer was cut off at the token limit" if episode.cut_off else ""
    failing = [test for test in grade.tests if test.passed is False] if grade else []
    return tag(
        "article",
        tag("h3", episode.problem_id, ": ", outcome(rollout)),
        tag("p", f"step {rollout.step}", f"; reward by stage: {parts}" if parts else "", cut_off, class_="soft"),
        _items("Why it failed", grade.reasons if grade else ()),
        _items("Failing tests", [_test(test) for test in failing]),
        _items("Diagnostics", [_diagnostic(found) for found in grade.diagnostics] if grade else ()),
        _prompt(rollout),
        tag("h4", "Answer"),
        tag("pre", cut(episode.text) or "(empty)"),
    )


def _prompt(rollout: RolloutRecord) -> Markup | None:
    messages = rollout.episode.messages
    if not messages:
        return None
    shown = [join(tag("p", one.role, class_="soft"), tag("pre", cut(one.content))) for one in messages]
    return tag("details", tag("summary", "Prompt"), *shown)


def _test(test: TestResult) -> str:
    where = f" ({test.where})" if test.where else ""
    return f"{test.name}{where}" + (f": {test.message}" if test.message else "")


def _diagnostic(found: Diagnostic) -> str:
    place = f"{found.file}:{found.line}" if found.file or found.line else ""
    return " ".join(part for part in (found.tool, found.severity, place, found.text) if part)


def _items(title: str, items: Sequence[str]) -> Markup | None:
    if not items:
        return None
    rows = [tag("li", cut(item)) for item in items[:_MOST_ITEMS]]
    if len(items) > _MOST_ITEMS:
        rows.append(tag("li", f"and {len(items) - _MOST_ITEMS} more"))
    return join(tag("h4", title), tag("ul", *rows))

"""Which problems a step draws: easiest first, from pools, or those whose pass rate is nearest a half.

A draw is a pure function of the run's seed, the step, and what the run itself has kept: curriculum.json, written once,
has what was known of each problem at the start, and curriculum.jsonl what every step found. The record of pass rates
that all runs share is read at the start and never again, so a resumed run draws what it would have drawn.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rtl_agent.difficulty import Difficulty, Prior
from rtl_agent.problems import Problem
from rtl_agent.training.curriculum_options import POOLS, CurriculumConfig, Kind, Pool, pool_of

# What a group leaves of earlier ones' weight, of all problems, of its family, of its own: the student changes.
ALL_MEMORY, FAMILY_MEMORY, OWN_MEMORY = 0.95, 0.8, 0.5
ALL_TRIES, FAMILY_TRIES, OWN_TRIES = 2.0, 4.0, 4.0  # that what was expected counts for, beside what was found
MOST_OWN, MOST_OTHERS = 8.0, 40.0  # tries of before the run that count, so that what it finds itself soon weighs more
FAR = 4.0  # log odds of the surest pass rate: 98 %


@dataclass(frozen=True)
class Outcome:
    """What a group found: answers that passed, of those that were graded."""

    problem: str
    solved: int
    tried: int


@dataclass
class Counts:
    """Answers that passed, of all, and how many were expected to; the earlier a group, the less it counts."""

    solved: float = 0.0
    tried: float = 0.0
    expected: float = 0.0

    def add(self, solved: float, tried: float, odds: float, memory: float) -> None:
        """What was found where these log odds had been expected."""
        self.solved = memory * self.solved + solved
        self.tried = memory * self.tried + tried
        self.expected = memory * self.expected + tried * _rate(odds)

    def at_most(self, tried: float) -> "Counts":
        """The same, of no more tries."""
        scale = min(1.0, tried / self.tried) if self.tried else 0.0
        return Counts(scale * self.solved, scale * self.tried, scale * self.expected)

    def shift(self, tries: float) -> float:
        """By how much log odds must change to expect what was found, if the expectation itself counts for `tries`."""
        if not self.tried:
            return 0.0
        expected = self.expected / self.tried
        return _odds((self.solved + tries * expected) / (self.tried + tries)) - _odds(expected)


def _odds(rate: float) -> float:
    rate = min(_rate(FAR), max(_rate(-FAR), rate))
    return math.log(rate / (1 - rate))


def _rate(odds: float) -> float:
    return 1 / (1 + math.exp(-min(FAR, max(-FAR, odds))))


@dataclass
class Standing:
    """One problem as the run knows it."""

    problem: Problem
    prior: float
    own: Counts
    pool: Pool = "normal"
    solved: bool = False  # by any answer, in this run or before it
    drawn: int = -1_000  # at which step last


@dataclass
class Curriculum:
    """A task sampler that learns: `batch` and `spare` draw for the next step, `learn` takes what a step found."""

    options: CurriculumConfig
    problems: tuple[Problem, ...]
    batch_size: int
    seed: int
    length: int  # steps of as many epochs as the options name
    standings: dict[str, Standing]
    all: Counts = field(default_factory=Counts)
    families: dict[str, Counts] = field(default_factory=dict)
    easiest: tuple[Problem, ...] = ()
    _drawn: tuple[int, tuple[Problem, ...]] = (-1, ())

    @staticmethod
    def begin(
        options: CurriculumConfig, problems: Sequence[Problem], batch_size: int, seed: int, length: int, start: Any
    ) -> "Curriculum":
        """`start` is what `start_record` wrote. A problem that it lacks is as hard as the mean."""
        known: Mapping[str, Mapping[str, float]] = start["problems"]
        mean = sum(one["prior"] for one in known.values()) / max(1, len(known))
        found = Curriculum(options, tuple(problems), batch_size, seed, length, {})
        for problem in problems:
            one = known.get(problem.id, {"prior": mean, "solved": 0, "failed": 0})
            standing = Standing(problem, one["prior"], Counts(one["solved"], one["solved"] + one["failed"]))
            standing.solved = standing.own.solved > 0
            standing.pool = pool_of(standing.own.solved, standing.own.tried, options) or "normal"
            found.standings[problem.id] = standing
        found._take_up()
        found.easiest = tuple(sorted(problems, key=lambda one: (-found.estimate(one)[0], one.id)))
        return found

    def _take_up(self) -> None:
        """What was known before the run, the general before the particular: each level says what the one above left."""
        tried = [(one, one.own.at_most(MOST_OWN)) for one in self.standings.values()]
        for standing, own in tried:
            standing.own = Counts()
            self.all.add(own.solved, own.tried, self._odds(standing)[0], 1.0)
        self.all = self.all.at_most(MOST_OTHERS)
        for standing, own in tried:
            family = self.families.setdefault(standing.problem.family, Counts())
            family.add(own.solved, own.tried, self._odds(standing)[1], 1.0)
        self.families = {name: family.at_most(MOST_OTHERS) for name, family in self.families.items()}
        for standing, own in tried:
            standing.own.add(own.solved, own.tried, self._odds(standing)[2], 1.0)

    def __len__(self) -> int:
        return self.length

    def batch(self, step: int) -> tuple[Problem, ...]:
        """The step's problems, no two the same."""
        if self._drawn[0] != step:
            self._drawn = (step, tuple(_DRAW[self.options.kind](self, step)))
        return self._drawn[1]

    def spare(self, step: int) -> tuple[Problem, ...]:
        """Others, in the place of groups without signal: by the same rule, at most as many as the step has already."""
        taken = {problem.id for problem in self.batch(step)}
        others = [problem for problem in self.problems if problem.id not in taken]
        ranked = self._nearest if self.options.kind == "adaptive" else self._by_pool
        return tuple(ranked(others, step, self._random(step, "spare"))[: self.batch_size])

    def learn(self, step: int, outcomes: Iterable[Outcome]) -> dict[str, float]:
        """Moves between pools, and the step's metrics."""
        new = 0
        self._drawn = (-1, ())
        found = [
            (outcome, self.standings[outcome.problem]) for outcome in outcomes if outcome.problem in self.standings
        ]
        expected = {outcome.problem: self._odds(standing) for outcome, standing in found}
        for outcome, standing in found:
            standing.drawn = step
            if not outcome.tried:
                continue
            new += bool(outcome.solved) and not standing.solved
            standing.solved = standing.solved or outcome.solved > 0
            levels = (self.all, self.families[standing.problem.family], standing.own)
            for level, odds, memory in zip(levels, expected[outcome.problem], _MEMORIES, strict=False):
                level.add(outcome.solved, outcome.tried, odds, memory)
            standing.pool = pool_of(outcome.solved, outcome.tried, self.options) or standing.pool
        pools = [standing.pool for standing in self.standings.values()]
        ever = sum(standing.solved for standing in self.standings.values())
        return {
            **{f"curriculum/{pool}": pools.count(pool) / len(pools) for pool in POOLS},
            "curriculum/newly_solved": float(new),
            "curriculum/solved": ever / len(pools),
        }

    def estimate(self, problem: Problem) -> tuple[float, float]:
        """The pass rate to expect, and how many answers it is known from: its own, and OWN_TRIES for all the rest."""
        standing = self.standings[problem.id]
        return _rate(self._odds(standing)[-1]), standing.own.tried + OWN_TRIES

    def _odds(self, standing: Standing) -> tuple[float, float, float, float]:
        """The log odds of a pass: the prior's; and then by what was found of all problems, of its family, of itself.

        Each level keeps what it found beside what was expected then: a problem that was harder than its family is
        expected to be harder still when the student has learnt the family, and not as hard as it was.
        """
        prior = _odds(standing.prior)
        of_all = prior + self.all.shift(ALL_TRIES)
        of_family = of_all + self.families.get(standing.problem.family, Counts()).shift(FAMILY_TRIES)
        return prior, of_all, of_family, of_family + standing.own.shift(OWN_TRIES)

    def _random(self, step: int, what: str) -> random.Random:
        return random.Random(f"{self.seed}/{step}/{self.options.kind}/{what}")

    def _easy_first(self, step: int) -> list[Problem]:
        parts = -(-len(self.easiest) // self.batch_size)
        at = step % parts * self.batch_size
        return list(self.easiest[at : at + self.batch_size])

    def _from_pools(self, step: int) -> list[Problem]:
        """Shares of easy and hard ones, the rest normal; where a pool is too small the next one gives."""
        chance = self._random(step, "draw")
        easy, hard = self._part(step, self.options.easy_share), self._part(step, self.options.hard_share)
        room = min(self.batch_size, len(self.problems))
        wanted: dict[Pool, int] = {"normal": room - min(easy + hard, room), "hard": hard, "easy": easy}
        found: list[Problem] = []
        for pool, count in wanted.items():
            members = [one for one in self.problems if self.standings[one.id].pool == pool]
            found += self._by_pool(members, step, chance)[:count]
        taken = {one.id for one in found}
        found += self._by_pool([one for one in self.problems if one.id not in taken], step, chance)
        return found[:room]

    def _adaptive(self, step: int) -> list[Problem]:
        """The most promising, and a few of all the others, which may have changed since they were tried."""
        chance = self._random(step, "draw")
        room = min(self.batch_size, len(self.problems))
        others = min(room, self._part(step, self.options.others_share))
        ranked = self._nearest(self.problems, step, chance)
        best, rest = ranked[: room - others], ranked[room - others :]
        return [*best, *chance.sample(rest, room - len(best))]

    def _part(self, step: int, share: float) -> int:
        """Of this step's draws; over many steps it is the share."""
        each = share * self.batch_size
        return int((step + 1) * each + 1e-9) - int(step * each + 1e-9)

    def _by_pool(self, problems: Sequence[Problem], step: int, chance: random.Random) -> list[Problem]:
        """Normal ones first, then hard ones, then easy ones; in each pool those that waited longest, at random."""
        order = {"normal": 0, "hard": 1, "easy": 2}

        def key(problem: Problem) -> tuple[int, int]:
            standing = self.standings[problem.id]
            return order[standing.pool], standing.drawn

        return sorted(chance.sample(problems, len(problems)), key=key)

    def _nearest(self, problems: Sequence[Problem], step: int, chance: random.Random) -> list[Problem]:
        """By the variance to expect of an answer's success, p (1 - p) over what p may be; nearest a half first.

        One that was just drawn waits: half its worth in the next step, three quarters in the one after. Other problems
        teach more than other answers to the same one (docs/comparison.md).
        """

        def worth(problem: Problem) -> float:
            rate, known = self.estimate(problem)
            rested = 1 - 0.5 ** max(1, step - self.standings[problem.id].drawn)
            return rate * (1 - rate) * known / (known + 1) * rested

        return sorted(chance.sample(problems, len(problems)), key=worth, reverse=True)


_MEMORIES = (ALL_MEMORY, FAMILY_MEMORY, OWN_MEMORY)
_DRAW: dict[Kind, Callable[[Curriculum, int], list[Problem]]] = {
    "easy-first": Curriculum._easy_first,
    "pools": Curriculum._from_pools,
    "adaptive": Curriculum._adaptive,
}


def start_record(model: str, found: Sequence[Difficulty], prior: Prior) -> dict[str, Any]:
    """What is known when a run begins, for its directory."""
    problems = {
        one.problem.id: {"prior": one.prior, "solved": one.tries.solved, "failed": one.tries.failed} for one in found
    }
    fitted = {"problems": prior.problems, "tries": prior.tries, "error": prior.error}
    return {"model": model, "prior": fitted, "problems": problems}


def step_line(outcomes: Sequence[Outcome], pools: Mapping[str, Pool]) -> dict[str, Any]:
    """Of curriculum.jsonl: each group's problem, the pool that it was drawn from, and what it found."""
    groups = [
        {"problem": one.problem, "pool": pools[one.problem], "solved": one.solved, "tried": one.tried}
        for one in outcomes
    ]
    return {"groups": groups}


def outcomes_of(line: Mapping[str, Any]) -> list[Outcome]:
    return [Outcome(one["problem"], one["solved"], one["tried"]) for one in line["groups"]]

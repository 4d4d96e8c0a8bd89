"""What an audit of one problem found, as data: facts and verdicts, and no text of the problem."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

AUDIT_VERSION = 4  # raised with every change that can change a finding or a grade of trust


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"  # the harness rejects it
    SURVIVED = "survived"  # it passes, and does something else than the right design
    EQUIVALENT = "equivalent"  # it passes, and Yosys proves that it is right
    UNDECIDED = "undecided"  # it passes, and neither a difference nor a proof was found
    BROKEN = "broken"  # slang takes it and the simulator does not
    HANGS = "hangs"  # it never comes to rest: left out, as it tells nothing of the tests
    ERROR = "error"  # it could not be graded: our fault


@dataclass(frozen=True)
class MutantFate:
    group: str
    operator: str
    file: str
    line: int
    fate: Fate
    killed_by: tuple[str, ...] = ()  # tests that failed; empty where the harness failed before any test


@dataclass(frozen=True)
class MutationScore:
    """Killed of those that are wrong. `low` and `high` take in what is undecided and that only some were drawn.

    score = killed / (killed + survived + undecided). The interval is Wilson's, 95 %: its lower end counts all that are
    undecided as wrong, its upper end none. Where every candidate was tried nothing was drawn, and only the undecided
    ones are uncertain.
    """

    killed: int
    survived: int
    undecided: int
    equivalent: int
    candidates: int  # that slang offers
    tried: int

    @property
    def score(self) -> float | None:
        all_ = self.killed + self.survived + self.undecided
        return self.killed / all_ if all_ else None

    @property
    def interval(self) -> tuple[float, float]:
        wrong, surely = self.killed + self.survived + self.undecided, self.killed + self.survived
        if not surely:
            return 0.0, 1.0
        if self.tried >= self.candidates:
            return self.killed / wrong, self.killed / surely
        return wilson(self.killed, wrong)[0], wilson(self.killed, surely)[1]

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval
        score = self.score
        rounded = None if score is None else round(score, 4)
        return {**asdict(self), "score": rounded, "low": round(low, 4), "high": round(high, 4)}


def wilson(hits: int, of: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if of == 0:
        return 0.0, 1.0
    share, spread = hits / of, z * z / of
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / of + spread / of / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class RightDesign:
    """One that is known to be right, and what its mutants told."""

    origin: str  # reference, or answer N: one that an earlier run or evaluation has verified
    outcome: str
    score: MutationScore | None = None
    mutants: tuple[MutantFate, ...] = ()
    note: str = ""  # why there are no mutants

    def to_json(self) -> dict[str, Any]:
        return {
            "origin": self.origin,
            "outcome": self.outcome,
            "score": None if self.score is None else self.score.to_json(),
            "mutants": [asdict(one) for one in self.mutants],
            "note": self.note,
        }


@dataclass(frozen=True)
class Findings:
    """Everything that was found out about one problem."""

    problem_id: str
    digest: str
    right: tuple[RightDesign, ...]
    trivial: Mapping[str, str]  # a design that tells nothing -> its outcome
    trivial_note: str  # why some could not be made
    interface: str  # where these designs have their ports from, "" where no ports are known
    near_misses: Mapping[str, str]  # name -> outcome
    outputs: Mapping[str, Mapping[str, str]]  # module.output -> value it is stuck at -> outcome
    seeds: int  # with how many the same right design was graded
    failed_seeds: int
    cpu_seconds: float | None  # of the right design's grade, or of the costliest other one
    wall_seconds: float | None
    hangs: int  # trials that ended at the time limit
    names_inside: str  # outcome of the right design with other names inside, or "" where that was not tried
    names_inside_note: str
    renamed: int
    unnamed: tuple[str, ...]  # what the tests touch and the specification does not name
    unmentioned: tuple[str, ...]  # outputs whose names nothing in the harness's Python can form
    checks: int  # asserts and raises in the harness's Python
    tests: tuple[str, ...]  # that the right design passes
    errors: tuple[str, ...] = ()  # what could not be graded
    tools: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)  # how much was tried

    @property
    def known_right(self) -> tuple[RightDesign, ...]:
        return tuple(one for one in self.right if one.outcome == "passed")

    @property
    def score(self) -> MutationScore | None:
        """Of the right designs together."""
        scores = [one.score for one in self.right if one.score is not None]
        if not scores:
            return None
        fields = ("killed", "survived", "undecided", "equivalent", "candidates", "tried")
        return MutationScore(**{name: sum(getattr(score, name) for score in scores) for name in fields})

    @property
    def unobserved(self) -> tuple[str, ...]:
        """Outputs of which no test notices that they are stuck, whatever they are stuck at."""
        return tuple(name for name, at in self.outputs.items() if at and set(at.values()) == {"passed"})

    @property
    def half_observed(self) -> Mapping[str, tuple[str, ...]]:
        """Output -> the values that it can be stuck at while all tests pass; those of `unobserved` left out."""
        found = {
            name: tuple(value for value, outcome in at.items() if outcome == "passed")
            for name, at in self.outputs.items()
        }
        return {name: values for name, values in found.items() if values and name not in self.unobserved}

    @property
    def kills(self) -> dict[str, dict[str, int]]:
        """Test -> how many mutants it kills, and how many that no other test does."""
        told: Counter[str] = Counter()
        alone: Counter[str] = Counter()
        for mutant in (one for design in self.right for one in design.mutants):
            told.update(mutant.killed_by)
            if len(mutant.killed_by) == 1:
                alone.update(mutant.killed_by)
        return {name: {"kills": told[name], "alone": alone[name]} for name in sorted({*self.tests, *told})}

    def to_json(self) -> dict[str, Any]:
        score = self.score
        return {
            "id": self.problem_id,
            "digest": self.digest,
            "audit": AUDIT_VERSION,
            "score": None if score is None else score.to_json(),
            "right": [one.to_json() for one in self.right],
            "trivial": dict(self.trivial),
            "trivial_note": self.trivial_note,
            "interface": self.interface,
            "near_misses": dict(self.near_misses),
            "outputs": {name: dict(at) for name, at in self.outputs.items()},
            "seeds": self.seeds,
            "failed_seeds": self.failed_seeds,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "hangs": self.hangs,
            "names_inside": self.names_inside,
            "names_inside_note": self.names_inside_note,
            "renamed": self.renamed,
            "unnamed": list(self.unnamed),
            "unmentioned": list(self.unmentioned),
            "checks": self.checks,
            "kills": self.kills,
            "errors": list(self.errors),
            "tools": dict(self.tools),
            "settings": dict(self.settings),
        }


def fates(mutants: Sequence[MutantFate]) -> Counter[Fate]:
    return Counter(one.fate for one in mutants)

"""`Trust`: a grade from A to F for a problem's tests, by a rule that anybody can check against the findings.

A problem begins with A; each finding lowers it to at most what `_RULES` says, and gives its reason in a sentence.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rtl_agent.audit.findings import AUDIT_VERSION, Findings

GOOD, FAIR, POOR = 0.95, 0.80, 0.60  # mutation scores


class TrustGrade(StrEnum):
    """A is the best. F says that a reward from this problem teaches nothing, or the wrong thing."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    E = "E"
    F = "F"

    def at_least(self, other: "TrustGrade") -> bool:
        return self.value <= other.value


@dataclass(frozen=True)
class Trust:
    """How far a problem's tests are to be trusted, by which version of the audit, and why."""

    problem_id: str
    digest: str  # of the problem that was audited
    grade: TrustGrade
    reasons: tuple[str, ...]
    score: float | None = None  # of mutations
    low: float | None = None
    high: float | None = None
    audit: int = AUDIT_VERSION

    def to_json(self) -> dict[str, Any]:
        found = {"id": self.problem_id, "digest": self.digest, "trust": self.grade.value, "reasons": list(self.reasons)}
        return {**found, "score": self.score, "low": self.low, "high": self.high, "audit": self.audit}

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Trust":
        """Of a table's line, or of an audit's own file. Anything else is a KeyError, TypeError, AttributeError or
        ValueError."""
        score = data.get("score")
        told = score if isinstance(score, dict) else {"score": score, "low": data.get("low"), "high": data.get("high")}
        reasons = tuple(str(reason) for reason in data["reasons"])
        score, low, high = (told.get(name) for name in ("score", "low", "high"))
        grade = TrustGrade(data["trust"])
        return Trust(str(data["id"]), str(data["digest"]), grade, reasons, score, low, high, int(data["audit"]))


def trust_of(findings: Findings) -> Trust:
    """The worst of what the rules say, the reasons for the worst first."""
    said = sorted(
        ((grade, reason) for rule in _RULES for grade, reason in rule(findings)), key=lambda one: one[0].value
    )
    grade = said[-1][0] if said else TrustGrade.A
    reasons = tuple(reason for _, reason in reversed(said)) or ("no finding speaks against it",)
    score = findings.score
    if score is None or score.score is None:
        return Trust(findings.problem_id, findings.digest, grade, reasons)
    low, high = score.interval
    numbers = (round(score.score, 4), round(low, 4), round(high, 4))
    return Trust(findings.problem_id, findings.digest, grade, reasons, *numbers)


Said = Iterator[tuple[TrustGrade, str]]


def _passes_for_nothing(found: Findings) -> Said:
    passed = [name for name, outcome in found.trivial.items() if outcome == "passed"]
    if passed:
        yield TrustGrade.F, f"a design that tells nothing passes: {', or '.join(passed)}"


def _right_design(found: Findings) -> Said:
    refused = [one.origin for one in found.right if one.outcome not in ("passed", "error")]
    if refused and not found.known_right:
        yield TrustGrade.F, "no design that should be right passes"
    elif refused:
        yield TrustGrade.D, f"a design that should be right does not pass: {', '.join(refused)}"
    elif not found.right:
        yield TrustGrade.C, "no right design is known: nobody has shown that a right answer passes, nor what tests miss"


def _checks(found: Findings) -> Said:
    if found.checks == 0:
        yield TrustGrade.F, "its harness has no assert and no raise: it can object by accident only"


def _mutants(found: Findings) -> Said:
    score = found.score
    if score is None or score.score is None:
        if found.known_right:
            yield TrustGrade.C, "no mutant of its right design could be judged"
        return
    share = f"{score.killed} of {score.killed + score.survived + score.undecided} wrong mutants are noticed"
    if score.score < POOR:
        yield TrustGrade.E, share
    elif score.score < FAIR:
        yield TrustGrade.C, share
    elif score.score < GOOD:
        yield TrustGrade.B, share


def _near_misses(found: Findings) -> Said:
    passed = [name for name, outcome in found.near_misses.items() if outcome == "passed"]
    if passed:
        yield TrustGrade.D, f"a known wrong answer passes: {', '.join(passed)}"


def _outputs(found: Findings) -> Said:
    if found.unobserved:
        worst = TrustGrade.D if 2 * len(found.unobserved) > len(found.outputs) else TrustGrade.C
        yield worst, f"no test looks at {', '.join(found.unobserved)}"
    for name, values in found.half_observed.items():
        if "x" in values:
            yield TrustGrade.C, f"{name} can be unknown all the time"
        elif values:
            yield TrustGrade.B, f"{name} can be {' or '.join(values)} all the time"


def _unmentioned(found: Findings) -> Said:
    """Without a right design nobody has tried it: known from the names alone."""
    if found.unmentioned and not found.outputs:
        yield TrustGrade.C, f"its tests have no name for the outputs {', '.join(found.unmentioned)}"


def _flaky(found: Findings) -> Said:
    if found.failed_seeds:
        grade = TrustGrade.D if 10 * found.failed_seeds >= found.seeds else TrustGrade.C
        yield grade, f"a right design fails with {found.failed_seeds} of {found.seeds} seeds"


def _names(found: Findings) -> Said:
    if found.names_inside and found.names_inside != "passed":
        yield (
            TrustGrade.D,
            "a right design fails when names inside of it are others, which the specification does not give",
        )
    if found.unnamed:
        yield TrustGrade.D, f"the tests need names that the specification does not give: {', '.join(found.unnamed)}"


def _ours(found: Findings) -> Said:
    if found.errors:
        yield TrustGrade.C, f"{len(found.errors)} trials could not be graded"


_RULES: tuple[Callable[[Findings], Said], ...] = (
    _passes_for_nothing,
    _right_design,
    _checks,
    _mutants,
    _near_misses,
    _outputs,
    _unmentioned,
    _flaky,
    _names,
    _ours,
)

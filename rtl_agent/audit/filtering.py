"""`trust=B` of `train` and `eval`: only problems whose tests are trusted so far, by tables that audits have made."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.audit.findings import AUDIT_VERSION
from rtl_agent.audit.store import BadTable, TrustTable
from rtl_agent.audit.trust import Trust, TrustGrade
from rtl_agent.problems import Problem

GRADES = tuple(grade.value for grade in TrustGrade)


class NotTrusted(ValueError):
    """A filter by trust cannot be applied, or leaves nothing. The message says what to do."""


@dataclass(frozen=True)
class TrustFilter:
    """What a user asked for: `wanted` is a grade, or "" for any; `table` a file or a folder of audits, or "".

    The tables that come with the package are always looked at; a table of one's own goes first.
    """

    wanted: str = ""
    table: str = ""

    def apply(self, problems: Sequence[Problem]) -> tuple[list[Problem], list[str]]:
        """(those that are trusted, a sentence for each that is left out). NotTrusted where the filter is not one."""
        if not self.wanted:
            return list(problems), []
        if self.wanted not in GRADES:
            raise NotTrusted(f"trust={self.wanted} should be one of {', '.join(GRADES)}")
        kept, others = self.known.keep(problems, TrustGrade(self.wanted))
        return kept, [_why(problem, trust, self.wanted) for problem, trust in others]

    def record(self, problems: Sequence[Problem]) -> dict[str, Any]:
        """For a run's or an evaluation's record: the audit's version, and each problem's grade, None where unknown."""
        known = self.known
        found = {problem.id: known.find(problem) for problem in problems}
        grades = {name: None if trust is None else trust.grade.value for name, trust in found.items()}
        versions = sorted({trust.audit for trust in found.values() if trust is not None} or {AUDIT_VERSION})
        return {"audit": versions[-1], "wanted": self.wanted or None, "grades": grades}

    @property
    def known(self) -> TrustTable:
        shipped = TrustTable.shipped()
        try:
            return shipped.joined(TrustTable.read(Path(self.table))) if self.table else shipped
        except BadTable as error:
            raise NotTrusted(f"trust_table={self.table}: {error}") from error


ANY_TRUST = TrustFilter()


def _why(problem: Problem, trust: Trust | None, wanted: str) -> str:
    if trust is None:
        how = "`rtl-agent problems audit --out` makes a trust_table"
        return f"{problem.id} is left out: it was not audited as it is now; {how}"
    return f"{problem.id} is left out: its tests have trust {trust.grade}, {wanted} is wanted: {trust.reasons[0]}"

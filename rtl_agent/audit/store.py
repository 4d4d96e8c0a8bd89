"""Audits as files: a JSON for each problem, written when it ends, and tables of grades that are made of them.

    my-audit/rtl_alu_0001.json      one problem's findings and its grade of trust
    trust.jsonl                     a line for each problem: id, digest, grade, reasons, score

Generated problems have no end: of these a table has a line for each family, by what a few of it showed.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from rtl_agent.audit.findings import Findings
from rtl_agent.audit.trust import Trust, TrustGrade, trust_of
from rtl_agent.problems import Problem, problem_digest

SHIPPED = "trust.jsonl"
GENERATED = "rtl_generated_"
ANY = "*"  # the digest of a line that speaks for a family


class BadTable(ValueError):
    """A table of trust cannot be read. The message says which file, and why."""


def with_trust(findings: Findings) -> dict[str, Any]:
    """Findings and the grade that follows from them, as JSON."""
    trust = trust_of(findings)
    found = {**findings.to_json(), "trust": trust.grade.value, "reasons": list(trust.reasons)}
    as_read_back: dict[str, Any] = json.loads(json.dumps(found))
    return as_read_back


def write_audit(folder: Path, findings: Findings) -> dict[str, Any]:
    """One problem's file, whole or not at all; what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    found = with_trust(findings)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    scratch = folder / f".{findings.problem_id}.{os.getpid()}.tmp"
    scratch.write_text(f"{{\n{lines}\n}}\n")
    scratch.replace(folder / f"{findings.problem_id}.json")
    return found


def read_audit(path: Path) -> dict[str, Any]:
    """What `write_audit` wrote; BadTable for anything else."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        Trust.from_json(found)
    except OSError as error:
        raise BadTable(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadTable(f"{path} is not an audit of `rtl-agent problems audit --out`: {error}") from error
    return found


def read_audits(folder: Path) -> list[dict[str, Any]]:
    return [read_audit(path) for path in sorted(folder.glob("*.json"))]


def is_current(found: Mapping[str, Any], problem: Problem, audit: int) -> bool:
    """Whether an audit is of this very problem and by this version."""
    return (found["digest"], found["audit"]) == (problem_digest(problem), audit)


class TrustTable:
    """Grades of trust by problem. What was changed since its audit has none.

    Example:
        >>> import rtl_agent as ra
        >>> from rtl_agent.audit import TrustTable
        >>> table = TrustTable.shipped()
        >>> trust = table.find(ra.load_problems("bundled")[0])
    """

    def __init__(self, lines: Iterable[Trust]) -> None:
        self._lines = {(line.problem_id, line.digest): line for line in lines}

    @staticmethod
    def shipped() -> "TrustTable":
        """What comes with the package: the bundled set and the generated families."""
        path = Path(str(files("rtl_agent.audit"))) / SHIPPED
        return TrustTable.read(path) if path.exists() else TrustTable(())

    @staticmethod
    def read(path: Path) -> "TrustTable":
        """A table, or a folder of audits."""
        if path.is_dir():
            return TrustTable(Trust.from_json(found) for found in read_audits(path))
        try:
            return TrustTable(Trust.from_json(json.loads(line)) for line in path.read_text().splitlines())
        except OSError as error:
            raise BadTable(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadTable(f"{path} is not a table of trust: {error}") from error

    def joined(self, other: "TrustTable") -> "TrustTable":
        """Both; where both know a problem, the other's."""
        return TrustTable([*self._lines.values(), *other._lines.values()])

    def find(self, problem: Problem) -> Trust | None:
        own = self._lines.get((problem.id, problem_digest(problem)))
        if own is None and problem.id.startswith(GENERATED):
            return self._lines.get((problem.family, ANY))
        return own

    def write(self, path: Path) -> None:
        lines = sorted(self._lines.values(), key=lambda line: (line.problem_id, line.digest))
        path.write_text("".join(json.dumps(line.to_json()) + "\n" for line in lines))

    def keep(
        self, problems: Sequence[Problem], wanted: TrustGrade
    ) -> tuple[list[Problem], list[tuple[Problem, Trust | None]]]:
        """(those that are trusted so far, the others with what is known of them)."""
        kept, others = [], []
        for problem in problems:
            trust = self.find(problem)
            if trust is not None and trust.grade.at_least(wanted):
                kept.append(problem)
            else:
                others.append((problem, trust))
        return kept, others


def by_family(lines: Sequence[Trust], families: Mapping[str, str]) -> list[Trust]:
    """A line for each family of generated problems, by the worst of those that were audited."""
    found: dict[str, list[Trust]] = {}
    for line in lines:
        found.setdefault(families[line.problem_id], []).append(line)
    return [_worst(family, of) for family, of in sorted(found.items())]


def _worst(family: str, lines: Sequence[Trust]) -> Trust:
    worst = max(lines, key=lambda line: (line.grade.value, -(line.score or 0.0)))
    said = f"the worst of {len(lines)} instances: {worst.reasons[0]}"
    return replace(worst, problem_id=family, digest=ANY, reasons=(said,))

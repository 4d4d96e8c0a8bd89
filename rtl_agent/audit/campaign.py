"""Audits of many problems, one file each as it ends: whoever is stopped goes on where it was."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rtl_agent.audit.audit import AuditOptions, Auditor
from rtl_agent.audit.findings import AUDIT_VERSION, Findings
from rtl_agent.audit.store import is_current, read_audit, with_trust, write_audit
from rtl_agent.audit.trees import Files
from rtl_agent.audit.trials import SHORT_LIMIT
from rtl_agent.grading import GradeCache, Grader, default_cache_path
from rtl_agent.problems import NearMiss, Problem, load_near_misses, read_near_misses

_AT_A_TIME = 2  # one compares designs while the other's trials are graded


async def audit_all(
    problems: Sequence[Problem],
    options: AuditOptions,
    *,
    out: Path | None = None,
    answers: Mapping[str, Sequence[Files]] | None = None,
    jobs: int | None = None,
    timeout: float = 60.0,
    cache: bool = True,
    minutes: float | None = None,
    told: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """The findings of each as JSON, in order.

    Args:
        problems: those that open tools judge.
        options: how much is tried of each.
        out: a folder with a file for each; one that is there and current is not made again.
        answers: verified answers by problem id.
        jobs: grades at a time.
        timeout: seconds for one service of a harness.
        cache: whether grades are kept.
        minutes: no problem is begun later than this; those that were not begun are left out of the result.
        told: called when a problem is done.
    """
    until = None if minutes is None else time.monotonic() + 60 * minutes
    misses = _near_misses(problems)
    turns = asyncio.Semaphore(_AT_A_TIME)
    with GradeCache(default_cache_path() if cache else None) as grades:
        async with (
            Grader(jobs=jobs, timeout_seconds=timeout, cache=grades) as grader,
            Grader(jobs=jobs, timeout_seconds=min(timeout, SHORT_LIMIT), cache=grades) as quick,
            Auditor(grader, options, quick=quick) as auditor,
        ):

            async def one(problem: Problem) -> dict[str, Any] | None:
                known = (answers or {}).get(problem.id, ())
                done = kept(out, problem, auditor.settings(problem, known))
                if done is None:
                    async with turns:
                        if until is not None and time.monotonic() > until:
                            return None
                        found = await auditor.audit(problem, misses[problem.id], known)
                        done = _written(out, found)
                told()
                return done

            return [done for done in await asyncio.gather(*map(one, problems)) if done is not None]


def _written(out: Path | None, found: Findings) -> dict[str, Any]:
    return with_trust(found) if out is None else write_audit(out, found)


def kept(out: Path | None, problem: Problem, settings: Mapping[str, int]) -> dict[str, Any] | None:
    """An audit that was made before, of this very problem, by this version and with these settings; not one that was
    not finished."""
    path = out / f"{problem.id}.json" if out is not None else None
    if path is None or not path.exists():
        return None
    found = read_audit(path)
    current = is_current(found, problem, AUDIT_VERSION) and found.get("settings") == settings
    return found if current and not found.get("errors") else None


def _near_misses(problems: Sequence[Problem]) -> dict[str, list[NearMiss]]:
    bundled: dict[str, list[NearMiss]] = {}
    for miss in load_near_misses():
        bundled.setdefault(miss.problem_id, []).append(miss)
    return {problem.id: read_near_misses(problem) or bundled.get(problem.id, []) for problem in problems}

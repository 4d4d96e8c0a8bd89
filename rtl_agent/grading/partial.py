"""Only some tests of a harness: which ones a pattern means, and what a service's verdict says of them.

A pattern is a part of a test's name, case does not count, and `*` is anything; `=` before it asks for the whole name.
pytest's names are looked at first: an item that is meant is meant with all that it simulates. Where no item is,
patterns mean cocotb tests. A service that runs no pytest is one test, with the name of the service.

Each test that is asked for has the result that it has in a full grade (probe/rtl_agent_probe_only.py); whatever looks
at everything that passed, for hidden text or at a netlist, is left out. So this is never a full grade.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rtl_agent.grading.grade import TestResult
from rtl_agent.grading.harness_python import simulates, uses_pytest
from rtl_agent.grading.services import ServiceRun
from rtl_agent.problems import Problem, Service

ONLY = "RTL_AGENT_ONLY"  # as probe/rtl_agent_probe_only.py has it
_NOT_STARTED, _NOT_BUILT = "simulation", "it does not compile: "  # how verdict.py calls them


def as_regex(patterns: Iterable[str]) -> str:
    """One expression for `re.search` that finds what any of the patterns means."""
    return "|".join(f"(?:{_one(pattern)})" for pattern in patterns)


def _one(pattern: str) -> str:
    parts = ".*".join(map(re.escape, pattern.removeprefix("=").split("*")))
    return rf"\A{parts}\Z" if pattern.startswith("=") else f"(?i:{parts})"


def restricted(problem: Problem, service: Service, patterns: Sequence[str]) -> Service | None:
    """The service, told what is asked for; None where nothing of it can be meant."""
    regex = as_regex(patterns)
    if not uses_pytest(service):
        return service if re.search(regex, service.name) else None
    plan = {"regex": regex, "simulates": simulates(problem, service)}
    return replace(service, env={**service.env, ONLY: json.dumps(plan)})


def part_of(run: ServiceRun, patterns: Sequence[str]) -> ServiceRun | None:
    """A service's run, judged by the tests that are asked for; None where none of its tests is."""
    regex, verdict = as_regex(patterns), run.verdict
    if not verdict.tests and not verdict.names:
        found = [TestResult(verdict.service, verdict.passed, "; ".join(verdict.reasons) or None)]
        kept = [replace(test, service=verdict.service) for test in found if re.search(regex, test.name)]
        general: list[str] = []
    else:
        kept = _asked_for(verdict.tests, regex)
        names = tuple({name for test in verdict.tests for name in (test.name, test.item) if name})
        general = [reason for reason in verdict.reasons if not reason.startswith(names)]
    if not kept:
        return None
    good = sum(test.passed is not False for test in kept)
    own = [f"{test.name}: {_first_line(test.message)}" for test in kept if test.passed is False]
    passed = good == len(kept) and not general
    score = 1.0 if passed else min(good / len(kept), 0.999)
    reasons = tuple(dict.fromkeys([*own, *general]))
    return replace(run, verdict=replace(verdict, passed=passed, score=score, tests=tuple(kept), reasons=reasons))


def _asked_for(tests: Sequence[TestResult], regex: str) -> list[TestResult]:
    """Where a simulation never came to name its tests, any of them may be meant: its item stands for them."""
    items = {test.name for test in tests if not test.item and re.search(regex, test.name)}
    if items:
        return [test for test in tests if (test.item or test.name) in items]
    unknown = {test.item for test in tests if test.item and test.name == _NOT_STARTED}
    unknown |= {test.name for test in tests if not test.item and (test.message or "").startswith(_NOT_BUILT)}
    return [
        test for test in tests if (test.item or test.name) in unknown or (test.item and re.search(regex, test.name))
    ]


def _first_line(words: str | None) -> str:
    return next((line.strip() for line in (words or "").splitlines() if line.strip()), "failed")


def nothing_meant(patterns: Sequence[str], names: Iterable[str]) -> str:
    """The sentence for patterns that mean no test."""
    asked = " or ".join(repr(pattern.removeprefix("=")) for pattern in patterns)
    there = ", ".join(dict.fromkeys(names))
    return f"no test has a name with {asked} in it; there are: {there or 'none'}"

"""Grades as JUnit XML, for a CI server: a suite for each answer, a case for each test, and one for the whole grade.

The last makes a suite green exactly when the answer has passed: one that does not compile or fails a lint has no test
of its own to show. How long a single test took on the clock is not known; a case has the simulation time in words.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rtl_agent.cli.grade_view import counted_tests
from rtl_agent.grading import Grade, Outcome, TestResult
from rtl_agent.runs import write_whole

_NOT_XML = re.compile("[^\t\n\\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHOLE = "grade"
_MOST_CHARACTERS = 20_000  # of one text


def write_junit(path: Path, graded: Sequence[tuple[str, Grade]]) -> None:
    """The whole file or none of it. `graded`: the name of each answer, and its grade."""
    write_whole(path, as_junit(graded))


def as_junit(graded: Sequence[tuple[str, Grade]]) -> bytes:
    root = ET.Element("testsuites", name="rtl-agent grade")
    written = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    suites = [_suite(label, grade, written) for label, grade in graded]
    for counted in ("tests", "failures", "errors", "skipped"):
        root.set(counted, str(sum(int(suite.get(counted, "0")) for suite in suites)))
    root.set("time", _seconds(sum(grade.timings.get("total", 0.0) for _, grade in graded)))
    root.extend(suites)
    written_out: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{written_out}\n'.encode()


def _suite(label: str, grade: Grade, written: str) -> ET.Element:
    total = _seconds(grade.timings.get("total", 0.0))
    cases = [_case(grade, test) for test in counted_tests(grade.tests)]
    cases.append(_whole(grade, total))
    suite = ET.Element("testsuite", name=_text(label), timestamp=written, hostname="localhost", time=total)
    for name, kinds in (("tests", None), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(kinds is None or case.find(kinds) is not None for case in cases)))
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(grade):
        ET.SubElement(properties, "property", name=_text(name), value=_text(value))
    suite.extend(cases)
    return suite


def _properties(grade: Grade) -> Iterable[tuple[str, str]]:
    yield "problem", grade.problem_id
    yield "outcome", grade.outcome.value
    yield "reward", f"{grade.reward.total:g} of {grade.reward.maximum:g}"
    yield "seed", str(grade.seed)
    if grade.only:
        yield "only", ", ".join(pattern.removeprefix("=") for pattern in grade.only)
    yield from grade.tools.items()


def _case(grade: Grade, test: TestResult) -> ET.Element:
    case = ET.Element("testcase", name=_text(test.name), classname=_text(_place(grade, test)))
    when = "" if test.time_ns is None else f"at {test.time_ns:g} ns of simulation time"
    if test.passed is None:
        ET.SubElement(case, "skipped")
    elif test.passed:
        if when:
            ET.SubElement(case, "system-out").text = when
    else:
        said = test.message or "failed"
        failure = ET.SubElement(case, "failure", type="failed", message=_text(said))
        failure.text = _text("\n".join(part for part in (test.where, said, when) if part))
    return case


def _place(grade: Grade, test: TestResult) -> str:
    return ".".join(part for part in (grade.problem_id, test.service, test.item) if part)


def _whole(grade: Grade, total: str) -> ET.Element:
    case = ET.Element("testcase", name=_WHOLE, classname=_text(grade.problem_id), time=total)
    if grade.outcome is not Outcome.PASSED:
        kind = "error" if grade.outcome is Outcome.ERROR else "failure"
        first = grade.reasons[0] if grade.reasons else grade.outcome.value
        found = ET.SubElement(case, kind, type=grade.outcome.value, message=_text(first))
        found.text = _text("\n".join(grade.reasons))
    return case


def _seconds(time: float) -> str:
    return f"{time:.3f}"


def _text(text: str) -> str:
    """What XML cannot hold, control characters and halves of surrogate pairs, is written out."""
    cut = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."
    return _NOT_XML.sub(lambda mark: mark[0].encode("unicode_escape").decode(), cut)

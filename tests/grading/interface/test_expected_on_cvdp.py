"""Every CVDP harness is read, and what is asked for exists in the designs that come with the problems."""

from pathlib import Path

import pytest

from rtl_agent.grading.interface import InterfaceChecker, expected_interface
from rtl_agent.problems import Needs, Problem, read_problems

# In these the top module is handed over with the interface that it must keep; others add ports or leave them open.
KEEPS_ITS_INTERFACE = {"cid007", "cid014", "cid016"}


@pytest.fixture(scope="module")
def problems(cvdp: Path) -> list[Problem]:
    return read_problems(cvdp)


@pytest.mark.cvdp
def test_every_harness_is_read_and_open_ones_tell_their_ports(problems: list[Problem]) -> None:
    known = [expected_interface(problem.harness) for problem in problems if problem.needs is Needs.OPEN_TOOLS]
    assert sum(any(interface.ports for interface in found) for found in known) >= 0.99 * len(known)
    assert all(expected_interface(p.harness) == () for p in problems if p.needs is Needs.TEXT)


@pytest.mark.cvdp
async def test_references_have_all_that_their_harnesses_need(
    problems: list[Problem], checker: InterfaceChecker
) -> None:
    solved = [p for p in problems if p.reference and p.needs is Needs.OPEN_TOOLS]
    assert solved
    for problem in solved:
        report = await checker.check(
            expected_interface(problem.harness), {**problem.context, **(problem.reference or {})}
        )
        assert report.valid is True, (problem.id, report.differences)


@pytest.mark.cvdp
async def test_given_designs_have_nearly_all_that_is_asked_for(
    problems: list[Problem], checker: InterfaceChecker
) -> None:
    """Of 116 such designs in the development part 112 have everything; one is given broken, and three lack ports that
    their prompts ask for."""
    reports = []
    for problem in (p for p in problems if p.category in KEEPS_ITS_INTERFACE and not p.reference):
        for one in expected_interface(problem.harness):
            reading = await checker.read(problem.context, one.top)
            if reading.interface and reading.interface.found:
                reports.append(await checker.check([one], problem.context))
    assert len(reports) > 100
    assert sum(report.valid is True for report in reports) >= 0.95 * len(reports)
    assert sum(report.matched for report in reports) >= 0.98 * sum(report.expected for report in reports)

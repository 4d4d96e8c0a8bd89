"""An audit finds the faults that tests are known to have, and none where they have none."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from rtl_agent.audit import AuditOptions, Auditor, Fate, Findings, TrustGrade, trust_of
from rtl_agent.audit.findings import fates
from rtl_agent.grading import Grader
from tests.audit import problems

OPTIONS = AuditOptions(mutants=14, seeds=8)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def auditor() -> AsyncIterator[Auditor]:
    async with Grader(jobs=2, timeout_seconds=30) as grader, Auditor(grader, OPTIONS) as auditor:
        yield auditor


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def blind(auditor: Auditor, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    problem = problems.blind(tmp_path_factory.mktemp("blind"))
    return await auditor.audit(problems.without_the_lottery(problem))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_output_that_nobody_looks_at_is_named(blind: Findings) -> None:
    assert blind.unobserved == ("blind.spare",)
    assert set(blind.outputs["blind.count"].values()) == {"failed"}


async def test_a_name_inside_that_the_specification_does_not_give_is_found(blind: Findings) -> None:
    assert blind.names_inside == "failed"
    assert "total" in blind.unnamed
    assert "spare" not in blind.unnamed


async def test_mutants_are_killed_survive_or_are_proved_equivalent(blind: Findings) -> None:
    (right,) = blind.right
    found = fates(right.mutants)
    assert found[Fate.KILLED] >= 5
    assert found[Fate.SURVIVED] >= 1  # those of `spare`
    assert any(one.line == 14 and one.fate is Fate.SURVIVED for one in right.mutants)
    assert not any(one.fate is Fate.SURVIVED for one in right.mutants if one.operator == "operator && becomes ||")
    assert blind.kills["test_blind.counts"]["kills"] >= 5


async def test_the_grade_names_every_reason(blind: Findings) -> None:
    trust = trust_of(blind)
    assert trust.grade.value > TrustGrade.B.value
    assert any("blind.spare" in reason for reason in trust.reasons)
    assert any("total" in reason for reason in trust.reasons)


async def test_the_same_audit_finds_the_same_again(auditor: Auditor, blind: Findings, tmp_path: Path) -> None:
    again = await auditor.audit(problems.without_the_lottery(problems.blind(tmp_path)))
    assert again.right == blind.right


async def test_a_test_that_fails_by_chance_is_found(auditor: Auditor, tmp_path: Path) -> None:
    problem = problems.blind(tmp_path)
    # Of a right design with a text for which the lottery is won.
    for number in range(20):
        (path,) = problem.targets
        design = {path: f"{problems.BLIND}// {number}\n"}
        findings = await auditor.flaky(problem, design)
        if findings is not None:
            failed, seeds = findings
            assert 0 < failed < seeds
            return
    pytest.fail("no text wins the lottery")


async def test_a_constant_that_passes_is_the_worst_grade(auditor: Auditor, tmp_path: Path) -> None:
    findings = await auditor.audit(problems.constant(tmp_path))
    trust = trust_of(findings)
    assert findings.trivial["every output constant 0"] == "passed"
    assert findings.trivial["every output constant 1"] == "failed"
    assert findings.trivial["a file with only a comment"] == "failed"
    assert trust.grade is TrustGrade.F
    assert trust.reasons[0].startswith("a design that tells nothing passes: every output constant 0")


async def test_without_a_right_design_it_says_so(auditor: Auditor, tmp_path: Path) -> None:
    findings = await auditor.audit(replace(problems.blind(tmp_path), reference=None))
    assert findings.score is None
    assert findings.right == ()
    assert "ports are guessed" in findings.trivial_note
    assert any("no right design is known" in reason for reason in trust_of(findings).reasons)


async def test_a_constant_that_passes_is_found_without_a_right_design(auditor: Auditor, tmp_path: Path) -> None:
    """Its inputs are driven by names that are computed: which they are is known when a design without them fails."""
    problem = replace(problems.constant(tmp_path), reference=None)
    findings = await auditor.audit(problem)
    assert findings.trivial["every output constant 0"] == "passed"
    assert findings.trivial["every output constant 1"] == "failed"
    assert trust_of(findings).grade is TrustGrade.F
    answered = await auditor.audit(problem, answers=[{problem.targets[0]: problems.CONSTANT}])
    assert answered.right[0].origin == "answer 1"
    assert answered.trivial["every output constant 0"] == "passed"


async def test_names_inside_do_not_hide_that_nothing_is_checked(auditor: Auditor, tmp_path: Path) -> None:
    """Its tests wait for a signal inside and compare nothing: whatever moves passes."""
    findings = await auditor.audit(replace(problems.unchecked(tmp_path), reference=None))
    assert findings.checks == 0
    assert findings.trivial["every output constant 0"] == "failed"
    assert findings.trivial["every output follows the clock"] == "passed"
    assert trust_of(findings).grade is TrustGrade.F

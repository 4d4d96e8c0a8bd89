"""Hostile designs: none passes, none gets out, and the next job is graded correctly."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rtl_agent.grading import Grader, Outcome, submit
from rtl_agent.problems import Problem

ATTACKS = sorted((Path(__file__).parents[2] / "attacks").iterdir())


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda path: path.name)
async def test_an_attack_gains_nothing(attack: Path, bundled: dict[str, Problem]) -> None:
    expect: dict[str, Any] = yaml.safe_load((attack / "expect.yaml").read_text())
    problem = bundled[expect["problem"]]
    design = (attack / "design.sv").read_text()
    async with Grader(jobs=1, timeout_seconds=expect.get("timeout", 60)) as grader:
        grade = await grader.grade(problem, submit(problem, {problem.targets[0]: design}))
        assert grade.outcome == expect["outcome"], (grade.reasons, grade.log)
        assert grade.reasons
        if expect.get("fools_pytest"):  # or the attack would be no attack
            assert all(test.passed for test in grade.tests if not test.item)
        for word in expect.get("log_must_not_have", ()):
            assert word not in grade.log, grade.log
            assert not any(word in (test.message or "") for test in grade.tests)
        assert problem.reference is not None
        after = await grader.grade(problem, submit(problem, problem.reference))
        assert after.outcome is Outcome.PASSED, (after.reasons, after.log)

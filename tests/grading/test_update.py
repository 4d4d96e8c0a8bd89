"""An update of the package under a running grader is an error of ours, never a failed design."""

import pytest

from rtl_agent.grading import Grader, Outcome, workspace
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import load_problems


async def test_a_probe_that_was_changed_meanwhile_is_an_error_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problems("bundled")[0]
    assert problem.reference is not None
    monkeypatch.setattr(workspace, "_AT_START", frozenset({("rtl_agent_probe.py", 0, 0)}))
    async with Grader(jobs=1, cache=None) as grader:
        grade = await grader.grade(problem, Submission(dict(problem.reference)))
    assert grade.outcome is Outcome.ERROR
    assert any("start it again" in reason for reason in grade.reasons)

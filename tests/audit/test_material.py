"""Near misses of any problem, and the source `repairs:PROBLEMS` that asks to mend them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.grading import Grader, Outcome, submit
from rtl_agent.problems import NoSuchProblems, load_problems
from rtl_agent.problems.checks import check_source
from tests.audit import problems


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A folder with one problem of one's own, whose tests are no lottery."""
    problem = problems.blind(tmp_path)
    tests = Path(problem.source) / "harness" / "src" / "test_blind.py"
    tests.write_text(tests.read_text().replace("random.random() < 0.75", "True"))
    return tmp_path


def test_repairs_are_a_source_like_any_other(one: Path) -> None:
    assert check_source(f"repairs:{one},count=2") == []


async def test_a_repair_gives_a_wrong_design_that_its_reference_mends(one: Path, grader: Grader) -> None:
    (first, second) = load_problems(f"repairs:{one},count=2")
    assert first.category == second.category == "cid016"
    assert first.given != second.given
    assert "mend" in first.prompt
    assert first.reference is not None
    given = await grader.grade(first, submit(first, first.given), as_given=True)
    mended = await grader.grade(first, submit(first, first.reference))
    assert (given.outcome, mended.outcome) == (Outcome.FAILED, Outcome.PASSED)


def test_repairs_of_nothing_say_so(tmp_path: Path) -> None:
    with pytest.raises(NoSuchProblems, match="names no problems"):
        load_problems("repairs:")
    with pytest.raises(NoSuchProblems, match="should be a number"):
        load_problems("repairs:bundled,count=many")


def test_mutate_writes_near_misses_of_any_problem(one: Path) -> None:
    done = CliRunner().invoke(app, ["problems", "mutate", str(one), "--count", "2"])
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2
    assert all(line["id"] == "weak_blind_0001" and line["failed"] and line["wrong"] for line in lines)
    assert all(line["files"]["rtl/blind.sv"] != problems.BLIND for line in lines)

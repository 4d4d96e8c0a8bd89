"""NeMo Gym's resources server over our grader, by its own HTTP application."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from tests.integrations.environments import ROOT, environment

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("gym")
    assert RUNNER.invoke(app, ["export", "nemo-gym", "bundled", str(place / "data.jsonl")]).exit_code == 0
    script = ROOT / "tests" / "integrations" / "gym_verify.py"
    done = environment("nemo_gym").python(script, "data.jsonl", cwd=place)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.python(3, 13)
def test_a_right_answer_earns_every_component(answers: dict[str, Any]) -> None:
    status, said = answers["right"]
    assert (status, said["outcome"], said["reward"]) == (200, "passed", 1.4)
    assert said["reward_components"] == {"format": 0.1, "interface": 0.0, "syntax": 0.3, "tests": 1.0}
    assert (said["passed"], said["mask_sample"], said["failure_kind"]) == (1.0, False, None)


@pytest.mark.slow
@pytest.mark.python(3, 13)
def test_a_wrong_answer_earns_what_is_right_of_it_and_says_why(answers: dict[str, Any]) -> None:
    _, said = answers["wrong"]
    assert (said["outcome"], said["reward"], said["tests"]) == ("failed", 0.1, 0.0)
    assert "module `barrel_shifter` is missing" in said["reasons"][0]
    assert sum(said["reward_components"].values()) == pytest.approx(said["reward"])
    assert answers["silent"][1]["outcome"] == "invalid", "what stands in the reasoning is no answer"


@pytest.mark.slow
@pytest.mark.python(3, 13)
def test_what_could_not_be_graded_is_masked_with_a_reason(answers: dict[str, Any]) -> None:
    _, said = answers["error"]
    assert (said["mask_sample"], said["failure_kind"], said["failure_reason"]) == (
        True,
        "verifier_error",
        "nobody is there",
    )


@pytest.mark.slow
@pytest.mark.python(3, 13)
def test_a_problem_that_the_server_does_not_have_is_refused(answers: dict[str, Any]) -> None:
    status, said = answers["unknown"]
    assert status == 404
    assert "export the data from the same source" in said["detail"]


def test_data_names_the_problem_and_shows_nothing_of_the_tests(tmp_path: Path) -> None:
    out = tmp_path / "data.jsonl"
    assert RUNNER.invoke(app, ["export", "nemo-gym", "bundled", str(out)]).exit_code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [message["role"] for message in rows[0]["responses_create_params"]["input"]] == ["system", "user"]
    assert len({row["problem_id"] for row in rows}) == len(rows)
    assert "cocotb" not in out.read_text()

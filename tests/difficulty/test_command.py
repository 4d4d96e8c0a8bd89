"""`rtl-agent problems difficulty`: what was tried and what is expected, for people and for programs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.problems import app
from rtl_agent.difficulty import PassRates, TriesOf, default_pass_rates_path
from rtl_agent.problems import load_problems, problem_digest


@pytest.fixture(autouse=True)
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the bundled problems, by two models."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    digests = {problem.id: problem_digest(problem) for problem in load_problems("bundled")}
    with PassRates(default_pass_rates_path()) as rates:
        rates.record("small", "run 0", 0, [TriesOf(digests["rtl_crc_0001"], 0, 8)])
        rates.record("large", "run 0", 0, [TriesOf(digests["rtl_crc_0001"], 6, 2)])
        rates.record("large", "run 1", 1, [TriesOf(digests["rtl_alu_0001"], 8, 0)])


def said(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["difficulty", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_every_problem_has_a_line_with_the_easiest_first_and_the_prior_is_stated() -> None:
    lines = said().splitlines()
    assert len(lines) == 2 + len(load_problems("bundled"))
    assert lines[1].split()[:1] == ["rtl_alu_0001"]
    crc = next(line for line in lines if line.startswith("rtl_crc_0001")).split()
    assert crc[2:6] == ["16", "6", "10", "38%"]
    assert lines[-1].startswith("all models; prior: fitted on 2 problems with 24 tries")


def test_one_model_alone_and_as_json() -> None:
    found = json.loads(said("--model", "small", "--json"))
    by_name = {one["id"]: one for one in found["problems"]}
    crc, alu = by_name["rtl_crc_0001"], by_name["rtl_alu_0001"]
    assert (crc["tried"], crc["solved"], crc["failed"], crc["pass_rate"]) == (8, 0, 8, 0.0)
    assert crc["last"].startswith("20")
    assert (alu["tried"], alu["pass_rate"], alu["last"]) == (0, None, None)
    assert crc["expected"] < crc["prior"] < 0.5
    assert 0 < alu["expected"] == alu["prior"] < 1
    assert found["model"] == "small"
    assert found["prior"]["problems"] == 1


def test_filters_and_a_model_that_nothing_is_known_of() -> None:
    assert len(json.loads(said("--id", "rtl_crc_0001", "--json"))["problems"]) == 1
    assert "nothing is known of a model smal (did you mean small" in said("--model", "smal", code=2)

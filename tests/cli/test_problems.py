"""`rtl-agent problems`: lists that hide nothing, sentences for what is not there, and one's own problems."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.problems import app
from rtl_agent.problems import BadRecord, NoSuchProblems, as_record, load_problems
from rtl_agent.problems.directories import new_directory, read_directory

from .test_cli import ARBITER, as_json, rtl_agent


def test_a_list_in_a_pipe_has_a_full_line_for_each_problem() -> None:
    lines = rtl_agent("problems", "list").stdout.splitlines()
    fifos = [line for line in lines if "fifo" in line]
    assert len(fifos) == 1
    assert fifos[0].split()[0] == "rtl_sync_fifo_0001"
    assert "rtl/sync_fifo.sv" in fifos[0]
    assert len(lines) == 2 + len(load_problems("bundled"))


def test_show_in_a_pipe_has_the_text_as_it_is() -> None:
    shown = rtl_agent("problems", "show", "rtl_crc_0001").stdout
    (problem,) = (one for one in load_problems("bundled") if one.id == "rtl_crc_0001")
    assert problem.prompt in shown
    assert problem.context
    for path, text in problem.context.items():
        assert path in shown
        assert text.rstrip() in shown


def test_show_takes_the_problems_where_its_siblings_do(tmp_path: Path) -> None:
    problem = load_problems("generated:mux,count=1")[0]
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(as_record(problem)))
    assert as_json(rtl_agent("problems", "show", problem.id, file, "--json"))["prompt"] == problem.prompt


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "rtl_sync_fifo_001"], "has no problem rtl_sync_fifo_001 (did you mean rtl_sync_fifo_0001"),
        (["list", "bundled", "--family", "sync_fifos"], "has no family sync_fifos (did you mean sync_fifo"),
        (["list", "bundled", "--category", "cid03"], "has no category cid03 (did you mean cid003"),
        (["list", "bundled", "--difficulty", "hrad"], "it has easy, hard, medium"),
        (["list", "bundled", "--needs", "commercial"], "no problem that needs commercial"),
        (["list", "bundled", "--family", "alu", "--difficulty", "hard"], "none that matches all filters"),
        (["list", "bundeld"], "did you mean bundled?"),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest_name(arguments: list[str], words: str) -> None:
    caught = CliRunner().invoke(app, arguments).exception
    assert isinstance(caught, NoSuchProblems)
    assert words in str(caught)


def test_a_new_problem_works_and_is_trusted(tmp_path: Path) -> None:
    made = rtl_agent("problems", "new", "reg", "--in", tmp_path)
    assert made.returncode == 0, made.stderr
    assert str(tmp_path / "own_reg_0001") in made.stdout
    assert read_directory(tmp_path / "own_reg_0001").targets == ("rtl/m_reg.sv",), "reg is a keyword of Verilog"
    (validation,) = as_json(rtl_agent("problems", "validate", tmp_path, "--json"))
    assert validation["trust"] == "trusted"
    assert {grade["outcome"] for grade in validation["near_misses"].values()} == {"failed"}
    again = rtl_agent("problems", "new", "reg", "--in", tmp_path)
    assert again.returncode == 2
    assert "already exists; choose another name" in " ".join(again.stderr.split())


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("fifo", "own_fifo_0001"),
        ("team_fifo", "team_fifo_0001"),
        ("team_fifo_7", "team_fifo_7"),
        ("team_async_fifo", "team_async_fifo_0001"),
        ("sub/team_fifo_7", "sub/team_fifo_7"),
    ],
)
def test_a_name_becomes_an_id(tmp_path: Path, name: str, identifier: str) -> None:
    made = new_directory(name, tmp_path)
    assert made == tmp_path / identifier
    assert read_directory(made).id == made.name


def test_a_problem_without_a_reference_is_untested_not_trusted(tmp_path: Path) -> None:
    shutil.rmtree(new_directory("team_fifo_1", tmp_path) / "reference")
    done = rtl_agent("problems", "validate", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "untested: it has no reference" in done.stdout
    assert "1 problem: 1 untested" in done.stdout


def test_a_syntax_error_in_a_harness_is_shown_as_such(tmp_path: Path) -> None:
    tests = new_directory("team_fifo_1", tmp_path) / "harness" / "src" / "test_fifo.py"
    tests.write_text(tests.read_text().replace("async def start(dut):", "async def start(dut)"))
    (validation,) = as_json(rtl_agent("problems", "validate", tmp_path, "--json"))
    assert validation["trust"] == "doubtful"
    assert validation["doubts"][0] == "syntax error in the harness: src/test_fifo.py, line 10: expected ':'"


def test_a_near_miss_that_passes_is_a_doubt(tmp_path: Path) -> None:
    made = new_directory("team_fifo_1", tmp_path)
    reference = (made / "reference" / "rtl" / "fifo.sv").read_text()
    shutil.rmtree(made / "near_misses")
    (made / "near_misses").mkdir()
    (made / "near_misses" / "same.sv").write_text(f"// near miss: nothing is wrong\n{reference}")
    done = rtl_agent("problems", "validate", tmp_path)
    assert done.returncode == 1
    assert "doubtful: the near miss same passes" in done.stdout


def test_a_broken_problem_can_be_left_out(tmp_path: Path) -> None:
    new_directory("team_fifo_1", tmp_path)
    (new_directory("team_fifo_2", tmp_path) / "prompt.md").write_text("")
    assert isinstance(CliRunner().invoke(app, ["list", str(tmp_path)]).exception, BadRecord)
    listed = rtl_agent("problems", "list", tmp_path, "--skip-bad", "--json")
    assert [problem["id"] for problem in as_json(listed)] == ["team_fifo_1"]
    assert "prompt.md: is empty" in listed.stderr


def test_own_problems_are_graded_like_any_other(tmp_path: Path) -> None:
    new_directory("team_fifo_1", tmp_path)
    done = rtl_agent("grade", tmp_path, "--id", "team_fifo_1", "--reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert rtl_agent("grade", "bundled", "--id", ARBITER[:-1], "--reference").returncode == 2

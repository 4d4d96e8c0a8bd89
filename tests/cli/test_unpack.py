"""`rtl-agent problems unpack`: what there is to read, what runs, and what stays hidden."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.new_workspace import CannotWrite
from rtl_agent.cli.problems import app
from rtl_agent.cli.unpack import workspace_of
from rtl_agent.problems import NoSuchProblems, Problem, as_record, load_problems

CRC = "rtl_crc_0001"  # agentic, with a given file and a specification of its own


def unpacked(*arguments: str | Path) -> str:
    """What was said on stderr."""
    done = CliRunner().invoke(app, ["unpack", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stderr


def everything(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_an_engineer_reads_writes_and_runs(tmp_path: Path) -> None:
    """A CVDP file named from its own directory; the grade is asked for from another."""
    problem = load_problems("generated:mux,count=1")[0]
    (tmp_path / "my 'set'.jsonl").write_text(json.dumps(as_record(problem)))
    assert unpacked(problem.id, tmp_path / "w", tmp_path / "my 'set'.jsonl") == ""
    (target,) = problem.targets
    files = everything(tmp_path / "w")
    assert set(files) == {"README.md", "run.sh", "docs/task.md", *problem.context}
    assert files["docs/task.md"].strip() == problem.prompt.strip()
    assert target in files["README.md"]
    assert (tmp_path / "w" / target).parent.is_dir()
    assert problem.reference is not None
    (tmp_path / "w" / target).write_text(problem.reference[target])
    graded = subprocess.run([tmp_path / "w" / "run.sh"], cwd="/", capture_output=True, text=True, check=False)
    assert graded.returncode == 0, graded.stdout + graded.stderr
    assert "passed, reward 1.4 of 1.4" in graded.stdout


def test_the_tests_are_there_only_if_asked_for_and_it_is_said_what_that_means(tmp_path: Path) -> None:
    hidden = {text for path, text in bundled_crc().harness.files.items() if path.endswith(".py")}
    assert unpacked(CRC, tmp_path / "without") == ""
    assert not hidden & set(everything(tmp_path / "without").values())
    warned = unpacked(CRC, tmp_path / "with", "--harness")
    files = everything(tmp_path / "with")
    assert hidden <= set(files.values())
    assert "cannot be scored on this problem any more" in warned
    assert "cannot be scored on this problem any more" in files["README.md"]


def bundled_crc() -> Problem:
    return next(problem for problem in load_problems("bundled") if problem.id == CRC)


def test_an_agents_problem_keeps_its_own_files() -> None:
    problem = bundled_crc()
    files, task = workspace_of(problem, harness=False)
    assert problem.context.items() <= files.items()
    taken = replace(problem, context={**problem.context, "docs/task.md": "theirs", "README.md": "theirs"})
    files, task = workspace_of(taken, harness=False)
    assert (files["docs/task.md"], files["README.md"], task) == ("theirs", "theirs", "docs/task-2.md")
    assert "docs/task-2.md" in files["README-2.md"]


@pytest.mark.parametrize("path", ["run.sh", "run.sh/x", "harness/src/x.py"])
def test_a_problem_cannot_bring_the_script(path: str) -> None:
    problem = bundled_crc()
    with pytest.raises(CannotWrite, match="of its own"):
        workspace_of(replace(problem, context={path: "touch owned"}), harness=True)


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    for arguments, words in (
        ((CRC, tmp_path), "is not an empty directory; name one that is new or empty"),
        (("rtl_crc_001", tmp_path / "new"), "did you mean rtl_crc_0001"),
    ):
        caught = CliRunner().invoke(app, ["unpack", *map(str, arguments)]).exception
        assert isinstance(caught, CannotWrite | NoSuchProblems)
        assert words in str(caught)
    assert not (tmp_path / "new").exists()

"""`grade --waves DIR`: a VCD for each simulation, named by number and seed, and a grade as without it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.cli.waves import _folders
from rtl_agent.problems import load_near_misses

PROBLEM = "rtl_gray_counter_0001"


def test_every_simulation_of_every_answer_has_its_waves(tmp_path: Path) -> None:
    (miss,) = [miss for miss in load_near_misses() if (miss.problem_id, miss.name) == (PROBLEM, "fixed_width")]
    answers = tmp_path / "answers.jsonl"
    lines = [{"id": PROBLEM, "files": dict(miss.files)}, {"id": PROBLEM, "response": "I would rather not."}]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = tmp_path / "waves"
    command = ["grade", "bundled", "--response", str(answers), "--json", "--no-cache", "--jobs", "1"]
    done = CliRunner().invoke(app, [*command, "--waves", str(folder)])
    failed, invalid = json.loads(done.stdout)
    assert (done.exit_code, failed["outcome"], invalid["outcome"]) == (1, "failed", "invalid")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    assert len(files) == len(failed["simulations"]) == 3
    assert [file.name for file in files] == [
        f"direct-{number:03}-seed{one['seed']}.vcd" for number, one in enumerate(failed["simulations"], 1)
    ]
    assert all(file.read_bytes().startswith(b"$timescale 1ns $end\n") for file in files)
    said = " ".join(done.stderr.split())
    assert "waves of 3 simulations below" in said
    (name, when) = next(
        (test["name"], test["time_ns"]) for test in failed["tests"] if test["item"] and not test["passed"]
    )
    assert f"{name.rpartition('.')[2]} fails at {when:g} ns" in said, "and which test failed in which file"
    assert "nothing was simulated (invalid), so there are no waves" in said
    assert "not as in the grade" not in said

    again = CliRunner().invoke(app, [*command, "--waves", str(folder)])
    assert again.exit_code == 2
    assert "is not empty" in again.stderr
    assert sorted(file for file in folder.rglob("*") if file.is_file()) == files


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_directory_is_refused_before_anything_is_graded(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "waves"
    if kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path)
    done = CliRunner().invoke(app, ["grade", "bundled", "--reference", "--waves", str(place)])
    assert (done.exit_code, "is not a directory" in done.stderr) == (2, True)


def test_folders_are_named_after_answers_whatever_these_are_called(tmp_path: Path) -> None:
    labels = ["../../etc", "a/b", "a_b", "A_B", "", "..", "x\x1b[31m", "n" * 500]
    found = list(_folders(tmp_path, labels))
    assert len({folder.name.lower() for folder in found}) == len(labels)
    assert all(folder.parent == tmp_path and len(folder.name) < 120 for folder in found)
    assert not any(folder.name.startswith(".") for folder in found)
    assert list(_folders(tmp_path, ["one"])) == [tmp_path]

"""Lines that reproduce a rollout: they work when they are pasted, and nothing in them is obeyed but what we wrote."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.grading import SyncGrader, submit
from rtl_agent.problems import load_near_misses, load_problems
from rtl_agent.runs import RunWriter
from rtl_agent.runs.episode import Episode
from rtl_agent.runs.rows import LinePlace, row_of
from rtl_agent.view import Library
from rtl_agent.view.commands import commands
from rtl_agent.view.problems import sources_of_run

CONFIG = {
    "mode": "rl", "cvdp_jsonl_path": "generated", "problems": "counter,mux", "emphasis": "mux*2",
    "generated_problems": 9, "seed": 5, "eval_problems": 4, "reward": "graded", "test_coef": 2.0,
}  # fmt: skip


def test_the_problems_of_a_run_are_drawn_again() -> None:
    train, held_out = sources_of_run(CONFIG)
    assert train == "generated:counter,mux,mux,seed=5,count=9,split=train"
    assert held_out.endswith("count=4,split=held-out")
    assert sources_of_run({"cvdp_jsonl_path": "a.jsonl"}) == ["a.jsonl"]
    assert len(sources_of_run({**CONFIG, "problems": "", "emphasis": ""})) == 3
    assert sources_of_run({**CONFIG, "problems": "no such"}) == []


def test_an_agents_files_are_graded_again(tmp_path: Path) -> None:
    problem = load_problems(sources_of_run(CONFIG)[0])[2]
    assert problem.reference is not None
    record = {"problem_id": problem.id, "files": dict(problem.reference), "reward": 3.6, "grade": {"outcome": "passed"}}
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
        run.log_rollouts(0, [record])
        run.log_metrics(0, {"a": 1.0})
    library = Library([tmp_path / "run"])
    shown = library.rollout(library.opened("run"), 0, seconds=60)
    assert shown["reference"] == dict(problem.reference)
    line = next(one["command"] for one in shown["commands"] if " grade " in one["command"])
    done = pasted(f"{line} --json", tmp_path)
    (grade,) = json.loads(done.stdout)
    assert (grade["outcome"], grade["reward"]["total"]) == ("passed", pytest.approx(2.6))


def test_the_first_failed_test_is_judged_again_alone(tmp_path: Path) -> None:
    miss = next(one for one in load_near_misses() if one.problem_id == "rtl_edge_detector_0001")
    problem = next(one for one in load_problems("bundled") if one.id == miss.problem_id)
    with SyncGrader(jobs=1) as grader:
        grade = grader.grade(problem, submit(problem, miss.files))
    record = {"problem_id": problem.id, "files": dict(miss.files), "reward": 0.4, "grade": grade.to_json()}
    with RunWriter.create(tmp_path / "run", {"cvdp_jsonl_path": "bundled"}, if_exists="raise") as run:
        run.log_rollouts(0, [record])
    library = Library([tmp_path / "run"])
    shown = library.rollout(library.opened("run"), 0, seconds=60)
    line = next(one["command"] for one in shown["commands"] if " -k " in one["command"])
    done = pasted(f"{line} --json", tmp_path)
    (again,) = json.loads(done.stdout)
    failed = next(test.name for test in grade.tests if test.item and test.passed is False)
    assert {test["name"] for test in again["tests"] if test["item"]} == {failed}
    assert not any(test["passed"] for test in again["tests"])
    matrix = library.answer("runs/run/groups/0", {})
    assert matrix["results"][0][matrix["tests"].index(failed)] is False


def pasted(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    program = folder / "bin" / "rtl-agent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rtl_agent.cli.main "$@"\n')
    program.chmod(0o755)
    paths = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(["sh", "-c", line], cwd=folder, env={**os.environ, **paths}, capture_output=True, text=True)


def lines(record: dict[str, Any], config: dict[str, Any], source: str = "bundled") -> list[str]:
    row = row_of(record, LinePlace("step", 0, 0, 0, 1, 0))
    found = commands(Path("runs/demo"), Path("runs/demo/x.jsonl"), row, Episode.from_json(record), source, config)
    return [one["command"] for one in found]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "demo").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("hostile", ["a; touch x", "$(touch x)", "`touch x`", "| touch x", "&&", "'", "> x", "*", "#"])
def test_words_of_a_run_stay_words(hostile: str) -> None:
    record = {"problem_id": hostile, "text": "t", "config": {"system": hostile, "extraction": hostile}}
    grade, play, _ = lines(record, {"reward": hostile}, hostile)
    assert shlex.split(play)[2] == hostile
    words = shlex.split(grade)
    assert [words.count(hostile), f"--id={hostile}" in words, f"--reward={hostile}" in words] == [1, True, True]


@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("hostile", ["\x1b[201~ls\n", "a\nb", "\u202e", "--out=x"])
def test_what_a_terminal_would_obey_makes_no_line(hostile: str) -> None:
    assert lines({"problem_id": hostile, "text": "t"}, {}) == ["rtl-agent runs show runs/demo"]

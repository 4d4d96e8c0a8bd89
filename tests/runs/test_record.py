"""Reading run directories, by whomever they were written, and comparing them."""

import json
from pathlib import Path

import pytest

from rtl_agent.runs import Difference, Run, RunError, Summary, compare, list_runs, read_run


def run_with(path: Path, values: list[float], **config: object) -> Path:
    with Run.create(path, config, if_exists="raise") as run:
        for step, value in enumerate(values):
            run.log_metrics(step, {"env/all/reward/total": value})
    return path


def test_a_run_of_tinker_cookbook(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"learning_rate": 1e-4}')
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "optim/lr": 1e-4}\n{"step": 0, "note": "text"}\n{"st')
    line = {"name": "000020", "batch": 20, "state_path": "tinker://a", "sampler_path": "tinker://b", "epoch": 1}
    (tmp_path / "checkpoints.jsonl").write_text(json.dumps(line) + "\n")
    run = read_run(tmp_path)
    assert run.series("optim/lr") == [(0, 1e-4)]
    assert run.series("note") == []
    assert (run.checkpoints[0].step, run.checkpoints[0].extra) == (20, {"epoch": 1})
    assert list(run.episodes()) == []
    assert not run.is_running


def test_a_bad_line_that_is_not_the_last_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text('{"step": 0}\nnonsense\n{"step": 2}\n')
    with pytest.raises(RunError, match=r"metrics\.jsonl:2 is not JSON"):
        read_run(tmp_path)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run directory"):
        read_run(tmp_path / "nothing")
    with pytest.raises(RunError, match="not a run directory"):
        read_run(tmp_path)
    with pytest.raises(RunError, match="no folder"):
        list_runs(tmp_path / "nothing")


def test_runs_are_found_in_a_folder_and_in_folders_of_it(tmp_path: Path) -> None:
    run_with(tmp_path / "first", [0.0])
    run_with(tmp_path / "sweep" / "second", [])
    (tmp_path / "no-run").mkdir()
    assert {path.relative_to(tmp_path).as_posix() for path in list_runs(tmp_path)} == {"first", "sweep/second"}
    assert list_runs(tmp_path / "first") == [tmp_path / "first"]


def test_the_evaluation_after_the_last_step_is_no_step(tmp_path: Path) -> None:
    with Run.create(tmp_path, {}, if_exists="raise") as run:
        run.log_metrics(0, {"test/env/all/pass_rate": 0.1, "env/all/pass_rate": 0.1})
        run.log_metrics(1, {"test/env/all/pass_rate": 0.2, "time/eval": 1.0})
    assert read_run(tmp_path).steps == 1
    assert read_run(tmp_path).series("test/env/all/pass_rate") == [(0, 0.1), (1, 0.2)]


def test_comparison(tmp_path: Path) -> None:
    a = run_with(tmp_path / "a", [0.0] * 5 + [float(n) for n in range(10)], seed=1, optim={"lr": 1}, old=True)
    b = run_with(tmp_path / "b", [2.0], seed=1, optim={"lr": 2}, new=True)
    comparison = compare(read_run(a), read_run(b))
    assert comparison.config == (
        Difference("optim.lr", 1, 2),
        Difference("old", True, "(absent)"),
        Difference("new", "(absent)", True),
    )
    (reward,) = comparison.metrics
    assert (reward.a, reward.b, reward.change) == (Summary(9.0, 4.5), Summary(2.0, 2.0), -2.5)

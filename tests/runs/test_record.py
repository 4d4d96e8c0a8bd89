"""Reading run directories, by whomever they were written, and comparing them."""

import json
import sys
from pathlib import Path

import pytest

from rtl_agent.grading import Diagnostic, Grade, Outcome, Reward, Stage, StageName, TestResult
from rtl_agent.prompts import Message
from rtl_agent.runs import (
    Difference,
    Episode,
    EpisodeTurn,
    MetricSummary,
    RunError,
    RunWriter,
    compare,
    list_runs,
    read_run,
)
from rtl_agent.runs.writer import command_line

GRADE = Grade(
    "p_1",
    Outcome.FAILED,
    (Stage(StageName.TESTS, False, 0.5, ("a note",)),),
    (TestResult("counts", False, "3 != 4", 10.0, "test.py:12", "direct", "test_runner"),),
    (Diagnostic("iverilog", "error", "a.sv", 3, "syntax error"),),
    Reward({"format": 0.1}, 0.4, 1.4),
    ("test counts failed",),
    {"total": 1.5},
    {"iverilog": "13.0"},
    seed=7,
    path="fast",
    extraction="forgiving",
)


def run_with(path: Path, values: list[float], **config: object) -> Path:
    with RunWriter.create(path, config, if_exists="raise") as run:
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
    with pytest.raises(RunError, match=r"metrics\.jsonl:2 is not valid JSON"):
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
    with RunWriter.create(tmp_path, {}, if_exists="raise") as run:
        run.log_metrics(0, {"test/env/all/pass_rate": 0.1, "env/all/pass_rate": 0.1})
        run.log_metrics(1, {"test/env/all/pass_rate": 0.2, "time/eval": 1.0})
    assert read_run(tmp_path).steps == 1
    assert read_run(tmp_path).series("test/env/all/pass_rate") == [(0, 0.1), (1, 0.2)]


EPISODE = Episode(
    problem_id="p_1",
    family="p",
    messages=(Message("user", "Write a counter."),),
    prompt_tokens=(1, 2),
    sampled_tokens=(3, 4),
    text="module m; endmodule",
    stop_reason="stop",
    grade=GRADE,
    reward=0.4,
    reward_parts={"format": 0.1, "syntax": 0.3},
    diagnostics=("a line",),
    sampled_logprobs=(-0.5, -1.0),
    turns=(EpisodeTurn("ls", calls=({"name": "bash"},), sampled_tokens=(3, 4), reward=0.1),),
    level="blind",
    end_reason="done",
    files={"rtl/m.sv": "module m; endmodule"},
)


def test_an_episode_is_read_as_it_was_written() -> None:
    assert Episode.from_json(json.loads(json.dumps(EPISODE.to_json()))) == EPISODE


def test_rollouts_are_typed_with_their_grade_and_without_their_tokens(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, {}, if_exists="raise") as run:
        run.log_rollouts(3, [{**EPISODE.to_json(), "step": 3, "rollout": 0}, {"problem_id": "p_2", "lost": "gone"}])
    first, lost = read_run(tmp_path).rollouts()
    assert (first.step, first.reward, first.grade, first.outcome) == (3, 0.4, GRADE, Outcome.FAILED)
    assert first.episode == EPISODE.without_tokens()
    assert (lost.step, lost.episode.problem_id, lost.outcome, lost.reward) == (3, "p_2", Outcome.ERROR, None)


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
    assert (reward.a, reward.b, reward.change) == (MetricSummary(9.0, 4.5), MetricSummary(2.0, 2.0), -2.5)


def test_each_start_is_kept_with_its_command(tmp_path: Path) -> None:
    run_with(tmp_path / "run", [0.0, 0.5])
    RunWriter.create(tmp_path / "run", {}, if_exists="resume").close()
    run = read_run(tmp_path / "run")
    assert [start["step"] for start in run.starts] == [0, 2]
    assert run.command == run.resumed_by == command_line(sys.argv)


def test_the_first_command_has_the_options_and_the_newest_resumed_it(tmp_path: Path) -> None:
    run_with(tmp_path / "run", [0.0, 0.5])
    assert read_run(tmp_path / "run").resumed_by is None
    lines = [
        f'{{"command": "{command}"}}\n' for command in ("train rl max_steps=9", "train resume a", "train resume b")
    ]
    (tmp_path / "run" / "starts.jsonl").write_text("".join(lines))
    run = read_run(tmp_path / "run")
    assert (run.command, run.resumed_by) == ("train rl max_steps=9", "train resume b")


def test_a_command_is_written_as_it_is_typed() -> None:
    assert command_line(["/x/rtl_agent/cli/main.py", "demo", "--out", "a b"]) == "rtl-agent demo --out 'a b'"
    assert command_line(["/usr/bin/rtl-agent", "train", "rl"]) == "rtl-agent train rl"

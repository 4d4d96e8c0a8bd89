"""Writing a run directory: what is kept, what a resumption forgets, and what is refused."""

import json
import logging
import math
import subprocess
import sys
from pathlib import Path

import pytest

from rtl_agent.runs import Checkpoint, Difference, IfExists, RunError, RunWriter, read_run

CONFIG = {"seed": 1, "learning_rate": 1e-4, "model": {"student": "small", "teacher": "large"}}


def filled(path: Path, steps: int = 6) -> None:
    with RunWriter.create(path, CONFIG, if_exists="raise") as run:
        for step in range(steps):
            run.log_rollouts(step, [{"problem_id": "p", "text": str(step)}])
            if step % 2 == 0:
                run.log_rollouts(step, [{"problem_id": "held-out"}], kind="eval")
            run.log_metrics(step, {"env/all/reward/total": step / 10})
            run.add_checkpoint(Checkpoint(f"{step + 1:06d}", step + 1, f"state/{step + 1}"))


def test_everything_that_was_logged_is_read_again(tmp_path: Path) -> None:
    filled(tmp_path / "run", steps=2)
    run = read_run(tmp_path / "run")
    assert run.config == CONFIG
    assert run.metrics == ({"step": 0, "env/all/reward/total": 0.0}, {"step": 1, "env/all/reward/total": 0.1})
    assert [checkpoint.state_path for checkpoint in run.checkpoints] == ["state/1", "state/2"]
    assert [(episode["step"], episode["text"]) for episode in run.episodes()] == [(0, "0"), (1, "1")]
    assert [episode["problem_id"] for episode in run.episodes("eval")] == ["held-out"]


def test_rewind_forgets_that_step_and_later_ones(tmp_path: Path) -> None:
    filled(tmp_path / "run")
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="resume") as run:
        run.rewind(3)
        assert run.last_checkpoint is not None
        assert run.last_checkpoint.step == 3
        run.log_metrics(3, {"again": 1.0})
    record = read_run(tmp_path / "run")
    assert [line["step"] for line in record.metrics] == [0, 1, 2, 3]
    kept = ("eval_000000", "eval_000002", "step_000000", "step_000001", "step_000002")
    files = sorted(path.name for path in (tmp_path / "run" / "rollouts").iterdir())
    assert files == [f"{name}.{kind}" for name in kept for kind in ("index", "jsonl")]


def test_a_step_cannot_be_written_twice(tmp_path: Path) -> None:
    filled(tmp_path / "run", steps=2)
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="resume") as run, pytest.raises(RunError, match="rewind"):
        run.log_metrics(1, {"a": 1.0})


def test_a_checkpoint_that_can_only_be_sampled_from_is_not_resumed_from(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", {}, if_exists="raise") as run:
        assert run.last_checkpoint is None
        run.add_checkpoint(Checkpoint("1", 1, "state/1", "sampler/1", best=True, value=0.5, extra={"epoch": 2}))
        run.add_checkpoint(Checkpoint("2", 2, None, "sampler/2"))
        assert run.last_checkpoint == Checkpoint("1", 1, "state/1", "sampler/1", True, 0.5, {"epoch": 2})


def test_values_that_json_lacks(tmp_path: Path) -> None:
    episode = {"text": "lone \ud800 surrogate,\u2028separator", "logprobs": [-math.inf, -1.0], "path": Path("a/b")}
    with RunWriter.create(tmp_path / "run", {"folder": Path("x")}, if_exists="raise") as run:
        run.log_metrics(0, {"nan": math.nan, "one": 1.0})
        run.log_rollouts(0, [episode])
    record = read_run(tmp_path / "run")
    assert record.metrics[0] == {"step": 0, "nan": None, "one": 1.0}
    assert next(record.episodes()) == {"step": 0, **episode, "logprobs": [None, -1.0], "path": "a/b"}


class TestIfExists:
    def test_raise(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        with pytest.raises(RunError, match="behavior_if_log_dir_exists=resume"):
            RunWriter.create(tmp_path / "run", CONFIG, if_exists=IfExists.RAISE)

    def test_delete_begins_anew(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        with RunWriter.create(tmp_path / "run", {"seed": 2}, if_exists=IfExists.DELETE, fixed={"seed"}):
            pass
        record = read_run(tmp_path / "run")
        assert (record.config, record.metrics, list(record.episodes())) == ({"seed": 2}, (), [])

    @pytest.mark.parametrize("wish", ["delete", "resume", "raise", "ask"])
    def test_a_folder_that_is_no_run_is_left_alone(self, tmp_path: Path, wish: str) -> None:
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "thesis.tex").write_text("years of work")
        with pytest.raises(RunError, match="not a run directory"):
            RunWriter.create(tmp_path, CONFIG, if_exists=wish, ask=lambda question: "delete")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "thesis.tex"]

    def test_delete_does_not_follow_links(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        (tmp_path / "weights").mkdir()
        (tmp_path / "weights" / "kept").touch()
        (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "weights")
        RunWriter.create(tmp_path / "run", CONFIG, if_exists="delete").close()
        assert (tmp_path / "weights" / "kept").exists()

    @pytest.mark.parametrize(("answers", "lines"), [(["resume"], 1), (["what?", " Delete "], 0)])
    def test_ask(self, tmp_path: Path, answers: list[str], lines: int) -> None:
        filled(tmp_path / "run", steps=1)
        given = iter(answers)
        with RunWriter.create(tmp_path / "run", CONFIG, if_exists="ask", ask=lambda question: next(given)):
            assert len(read_run(tmp_path / "run").metrics) == lines

    def test_ask_and_quit(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        with pytest.raises(RunError, match="left as it is"):
            RunWriter.create(tmp_path / "run", CONFIG, if_exists="ask", ask=lambda question: "quit")
        assert len(read_run(tmp_path / "run").metrics) == 1

    def test_ask_without_a_terminal(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        code = (
            f"from rtl_agent.runs import RunWriter; RunWriter.create({str(tmp_path / 'run')!r}, {{}}, if_exists='ask')"
        )
        done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert "no terminal to ask" in done.stderr

    def test_nobody_is_asked_about_a_new_run(self, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        RunWriter.create(tmp_path / "run", CONFIG, if_exists="ask").close()


class TestResumeWithAnotherConfig:
    def test_changes_are_listed_and_logged(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        with RunWriter.create(tmp_path / "run", {**CONFIG, "learning_rate": 5e-5}, if_exists="resume") as run:
            assert run.changes == (Difference("learning_rate", 1e-4, 5e-5),)
        assert "learning_rate: 0.0001 -> 5e-05" in (tmp_path / "run" / "logs.log").read_text()
        assert read_run(tmp_path / "run").config["learning_rate"] == 5e-5

    def test_fixed_options_are_named(self, tmp_path: Path) -> None:
        filled(tmp_path / "run", steps=1)
        other = {"seed": 2, "learning_rate": 3.0, "model": {"student": "other", "teacher": "large"}}
        with pytest.raises(RunError) as caught:
            RunWriter.create(tmp_path / "run", other, if_exists="resume", fixed={"seed", "model", "batch_size"})
        assert "another value of seed, model.student," in str(caught.value)
        assert "'small' -> 'other'" in str(caught.value)
        assert read_run(tmp_path / "run").config == CONFIG


class TestLock:
    def test_two_trainers_never_share_a_run(self, tmp_path: Path) -> None:
        with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
            run.log_metrics(0, {"a": 1.0})
            assert read_run(tmp_path / "run").is_running
            for wish in ("resume", "delete"):
                create = f"RunWriter.create({str(run.path)!r}, {{}}, if_exists={wish!r})"
                code = f"from rtl_agent.runs import RunWriter; {create}"
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                assert "two trainers cannot share a run" in done.stderr
        record = read_run(tmp_path / "run")
        assert not record.is_running
        assert len(record.metrics) == 1

    def test_a_child_that_outlives_its_trainer_does_not_hold_the_lock(self, tmp_path: Path) -> None:
        code = """
import os, sys, time
from rtl_agent.runs import RunWriter
run = RunWriter.create(sys.argv[1], {}, if_exists="raise")
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
os._exit(0)
"""
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE, check=True)
        try:
            RunWriter.create(tmp_path / "run", {}, if_exists="resume").close()
        finally:
            subprocess.run(["kill", str(int(done.stdout))], check=True)


class TestTroubleWithTheDisk:
    def test_full_disk(self, tmp_path: Path) -> None:
        with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
            (run.path / "metrics.jsonl").symlink_to("/dev/full")
            with pytest.raises(RunError, match="the disk is full"):
                run.log_metrics(0, {"a": 1.0})

    def test_a_line_that_fits_only_in_part_is_taken_back(self, tmp_path: Path) -> None:
        """The limit on a file's size does what a disk does that fills up during a write: it takes a part."""
        code = """
import resource, sys
from rtl_agent.runs import RunWriter, RunError
run = RunWriter.create(sys.argv[1], {}, if_exists="raise")
run.log_metrics(0, {"a": 1.0})
run.log_rollouts(0, [{"text": "short"}])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for write in (
    lambda: run.log_metrics(1, {"x" * 2000: 1.0}),
    lambda: run.log_rollouts(1, [{"text": "x" * 2000}]),
):
    try:
        write()
        sys.exit("was written")
    except RunError as error:
        print(error)
run.log_metrics(1, {"a": 2.0})
"""
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "run")], capture_output=True, text=True, check=True
        )
        assert done.stdout.count("what was written before is kept") == 2
        assert (tmp_path / "run" / "metrics.jsonl").read_text() == '{"step": 0, "a": 1.0}\n{"step": 1, "a": 2.0}\n'
        kept = sorted(path.name for path in (tmp_path / "run" / "rollouts").iterdir())
        assert kept == ["step_000000.index", "step_000000.jsonl"]

    def test_a_folder_that_nobody_may_write_to(self) -> None:
        with pytest.raises(RunError, match="choose a folder that you may write to"):
            RunWriter.create("/sys/a-run", CONFIG, if_exists="raise")

    def test_a_path_through_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(RunError, match="choose another path"):
            RunWriter.create(tmp_path / "file" / "run", CONFIG, if_exists="raise")
        with pytest.raises(RunError, match="is a file"):
            RunWriter.create(tmp_path / "file", CONFIG, if_exists="raise")


def test_log_records_go_to_the_log_file(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
        handler = run.logging_handler()
        logger = logging.Logger("loop")
        logger.addHandler(handler)
        logger.warning("group %d left the batch \ud800", 3)
    text = (tmp_path / "run" / "logs.log").read_text()
    assert text.endswith("WARNING loop: group 3 left the batch \\ud800\n")


def test_code_diff_of_a_checkout_and_of_none(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    git = ["git", "-C", str(checkout), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    (checkout / "package").mkdir()
    (checkout / "code.py").write_text("old = 1\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    (checkout / "code.py").write_text("new = 2\n")
    (checkout / "forgotten.py").touch()
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
        run.write_code_diff(checkout / "package")
        diff = (run.path / "code.diff").read_text()
        assert diff.startswith("# commit ")
        assert "-old = 1\n+new = 2\n" in diff
        assert "# not in git: forgotten.py\n" in diff
        subprocess.run([*git, "checkout", "-q", "code.py"], check=True)
        subprocess.run([*git, "apply", str(run.path.resolve() / "code.diff")], check=True)
        run.write_code_diff(tmp_path)
        assert (run.path / "code.diff").read_text().startswith("# no git checkout")


def test_config_is_readable_json(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise").close()
    text = (tmp_path / "run" / "config.json").read_text()
    assert json.loads(text) == CONFIG
    assert '\n  "seed": 1,\n' in text

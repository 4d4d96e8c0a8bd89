"""A writer killed with SIGKILL at any moment leaves whole lines, each step once, and a run that can go on."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from rtl_agent.runs import Checkpoint, RunWriter, read_run
from rtl_agent.runs.files import read_lines
from rtl_agent.runs.index import index_path, is_of, open_regular, read_index, read_rows

# Long lines are the ones that a kill can cut: the kernel looks for a fatal signal between pages.
WRITER = """
import sys
from rtl_agent.runs import Checkpoint, RunWriter

run = RunWriter.create(sys.argv[1], {"seed": 1}, if_exists="resume", fixed={"seed"})
last = run.last_checkpoint
step = last.step if last else 0
run.rewind(step)
assert run.curriculum_start(lambda: {"known at": step}) == {"known at": 0}
assert [line["step"] for line in run.curriculum_lines] == list(range(step))
while True:
    run.log_rollouts(step, [{"step": step, "text": "x" * 50_000, "number": number} for number in range(4)])
    run.log_curriculum(step, {"groups": ["z" * 20_000]})
    run.log_metrics(step, {f"metric/{number}": float(step) for number in range(3_000)})
    step += 1
    if step % 3 == 0:
        run.add_checkpoint(Checkpoint(f"{step:06d}", step, f"state/{step}", extra={"pad": "y" * 20_000}))
    print(step, flush=True)
"""


def test_kill_at_random_moments(tmp_path: Path) -> None:
    path, moments = tmp_path / "run", random.Random(4)
    reached = 0
    for _ in range(25):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        # Some kills hit the start, the creation and the rewinding, most the writing of some step.
        if moments.random() < 0.2:
            time.sleep(moments.uniform(0, 0.15))
        else:
            for _ in range(moments.randint(0, 7)):
                assert writer.stdout.readline()
            time.sleep(moments.uniform(0, 0.03))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        if path.exists() and (path / "config.json").exists():
            reached = max(reached, check(path))
    assert reached >= 20, "each time it goes on from its last checkpoint"


def check(path: Path) -> int:
    """The directory as it was left, before anything mends it."""
    run = read_run(path)
    steps = [line["step"] for line in run.metrics]
    assert steps == list(range(len(steps)))
    assert all(len(line) == 3_001 for line in run.metrics)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [*range(3, 3 * len(run.checkpoints) + 1, 3)]
    assert all(checkpoint.step <= len(steps) for checkpoint in run.checkpoints)
    drawn = [line["step"] for line in read_lines(path / "curriculum.jsonl")]
    assert drawn == list(range(len(drawn)))
    assert len(drawn) >= 3 * len(run.checkpoints), "the lines that a resumed run draws by"
    assert not run.is_running
    for file in (path / "rollouts").glob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["number"] for line in lines] == [0, 1, 2, 3]
        assert {line["step"] for line in lines} == {int(file.stem.removeprefix("step_"))}
        index = read_index(index_path(file))
        if index is not None:  # it is written after its file
            with open_regular(file) as whole:
                assert not is_of(index, whole) or index == read_rows(whole, "step", lines[0]["step"])
    return len(steps)


def test_a_torn_last_line_is_cut_on_resume(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunWriter.create(path, {}, if_exists="raise") as run:
        run.log_metrics(0, {"a": 1})
        run.add_checkpoint(Checkpoint("000001", 1, "state/1"))
    (path / "rollouts").mkdir()
    (path / "rollouts" / ".step_000001.jsonl.new").write_text('{"te')
    for name in ("metrics.jsonl", "checkpoints.jsonl"):
        with (path / name).open("a") as file:
            file.write('{"step": 1, "na')
    assert len(read_run(path).metrics) == 1
    with RunWriter.create(path, {}, if_exists="resume") as run:
        assert run.last_checkpoint == Checkpoint("000001", 1, "state/1")
        run.log_metrics(1, {"a": 2})
    assert [line["a"] for line in read_run(path).metrics] == [1, 2]
    assert list((path / "rollouts").iterdir()) == []


def test_killed_while_deleting_leaves_no_checkpoint_without_its_metrics(tmp_path: Path) -> None:
    """What is deleted first is what a resumption would build on."""
    path = tmp_path / "run"
    deleter = """
import sys, os, signal, pathlib
from rtl_agent.runs import RunWriter
unlink, count = pathlib.Path.unlink, [0]
def die_at_second(self, *args, **kwargs):
    count[0] += 1
    if count[0] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return unlink(self, *args, **kwargs)
pathlib.Path.unlink = die_at_second
RunWriter.create(sys.argv[1], {}, if_exists="delete")
"""
    with RunWriter.create(path, {}, if_exists="raise") as run:
        run.log_metrics(0, {"a": 1})
        run.add_checkpoint(Checkpoint("000001", 1, "state/1"))
        run.write_code_diff()
    subprocess.run([sys.executable, "-c", deleter, str(path)], check=False)
    assert not (path / "checkpoints.jsonl").exists()
    with RunWriter.create(path, {}, if_exists="resume") as run:
        assert run.last_checkpoint is None
        run.rewind(0)
        run.log_metrics(0, {"a": 3})
    assert [line["a"] for line in read_run(path).metrics] == [3]

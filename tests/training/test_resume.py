"""A run that is killed at any moment and resumed ends as one that never was."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from safetensors.numpy import load_file

# What may differ: times, what follows from them, and where grades came from.
UNEQUAL = ("time/", "throughput/", "cost/", "grading/cache_hits", "grading/judged", "grading/shared")
OPTIONS = ["batch_size=2", "group_size=2", "max_tokens=12", "eval_every=2", "save_every=1", "split_seed=0"]


AGENTIC = [
    "env=agentic", "cvdp_jsonl_path=generated-workspaces", "model_name=rtl-agent/agent", "generated_problems=6",
    "teacher_model=rtl-agent/agent", "max_turns=2", "max_tokens=48", "eval_every=0", "preflight_problems=0",
]  # fmt: skip


def train(gates: Path, path: Path, steps: int, more: Sequence[str] = ()) -> subprocess.Popen[str]:
    words = [f"cvdp_jsonl_path={gates}", f"log_path={path}", f"max_steps={steps}", *OPTIONS, *more]
    return subprocess.Popen(
        [sys.executable, "-m", "rtl_agent.cli.main", "train", "distill", *words, "behavior_if_log_dir_exists=resume"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(gates: Path, path: Path, steps: int, more: Sequence[str] = ()) -> None:
    process = train(gates, path, steps, more)
    said = process.communicate(timeout=600)[1]
    assert process.returncode == 0, said


def metrics(path: Path) -> list[dict[str, float]]:
    """Fails on a torn line."""
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def comparable(path: Path) -> list[dict[str, float]]:
    return [{name: value for name, value in line.items() if not name.startswith(UNEQUAL)} for line in metrics(path)]


def weights(path: Path, steps: int) -> dict[str, bytes]:
    """Of the last checkpoint, from whichever server wrote it."""
    files = sorted((path / "checkpoints").glob(f"*/weights/{steps:06d}/**/model.safetensors"))
    assert files, "the run left no weights"
    found = max(files, key=lambda file: file.stat().st_mtime_ns)
    return {name: array.tobytes() for name, array in load_file(found).items()}


def wait_for_training(path: Path, process: subprocess.Popen[str]) -> None:
    """Until something new is written: killing a Python that is still importing proves little."""
    file = path / "logs.log"
    before = file.stat().st_size if file.exists() else -1
    while process.poll() is None and (not file.exists() or file.stat().st_size == before):
        time.sleep(0.05)


def killed_and_finished(
    gates: Path, path: Path, steps: int, kills: int, moments: random.Random, more: Sequence[str] = ()
) -> None:
    for _ in range(kills):
        process = train(gates, path, steps, more)
        wait_for_training(path, process)
        time.sleep(moments.uniform(0.0, 14.0))  # starting a server takes most of it, a step one or two seconds
        process.send_signal(signal.SIGKILL)
        process.communicate()
    finish(gates, path, steps, more)


@pytest.mark.slow  # test_interrupt.py has a run that is killed once
@pytest.mark.parametrize(
    ("steps", "kills", "more"),
    [
        pytest.param(10, 20, [], id="on-policy"),
        pytest.param(8, 8, ["max_steps_off_policy=1", "tail_tokens=6"], id="one step ahead"),
        pytest.param(8, 8, ["max_steps_off_policy=2", "save_every=3"], id="two steps ahead"),
        pytest.param(5, 4, ["max_steps_off_policy=1", *AGENTIC], id="one step ahead, agentic"),
        pytest.param(5, 4, ["max_steps_off_policy=2", "tail_tokens=24", *AGENTIC], id="two steps ahead, agentic"),
    ],
)
def test_kills_leave_no_trace(gates: Path, tmp_path: Path, steps: int, kills: int, more: list[str]) -> None:
    finish(gates, tmp_path / "unbroken", steps, more)
    killed_and_finished(gates, tmp_path / "killed", steps, kills, random.Random(kills), more)
    evaluations = 0 if "eval_every=0" in more else 1
    assert [line["step"] for line in metrics(tmp_path / "killed")] == list(range(steps + evaluations))
    assert comparable(tmp_path / "killed") == comparable(tmp_path / "unbroken")
    assert weights(tmp_path / "killed", steps) == weights(tmp_path / "unbroken", steps)

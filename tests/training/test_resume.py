"""A run that is killed at any moment and resumed ends as one that never was."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

# What may differ: times, what follows from them, and where grades came from.
UNEQUAL = ("time/", "throughput/", "cost/", "grading/cache_hits", "grading/judged", "grading/shared")
OPTIONS = ["batch_size=2", "group_size=2", "max_tokens=12", "eval_every=2", "save_every=1", "split_seed=0"]


def train(gates: Path, path: Path, steps: int) -> subprocess.Popen[str]:
    words = [f"cvdp_jsonl_path={gates}", f"log_path={path}", f"max_steps={steps}", *OPTIONS]
    return subprocess.Popen(
        [sys.executable, "-m", "rtl_agent.cli.main", "train", "distill", *words, "behavior_if_log_dir_exists=resume"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(gates: Path, path: Path, steps: int) -> None:
    process = train(gates, path, steps)
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


def killed_and_finished(gates: Path, path: Path, steps: int, kills: int, moments: random.Random) -> None:
    for _ in range(kills):
        process = train(gates, path, steps)
        wait_for_training(path, process)
        time.sleep(moments.uniform(0.0, 14.0))  # starting a server takes most of it, a step one or two seconds
        process.send_signal(signal.SIGKILL)
        process.communicate()
    finish(gates, path, steps)


@pytest.mark.slow  # test_interrupt.py has a run that is killed once
def test_kills_leave_no_trace(gates: Path, tmp_path: Path) -> None:
    steps, kills = 10, 20
    finish(gates, tmp_path / "unbroken", steps)
    killed_and_finished(gates, tmp_path / "killed", steps, kills, random.Random(kills))
    assert [line["step"] for line in metrics(tmp_path / "killed")] == list(range(steps + 1))
    assert comparable(tmp_path / "killed") == comparable(tmp_path / "unbroken")
    assert weights(tmp_path / "killed", steps) == weights(tmp_path / "unbroken", steps)

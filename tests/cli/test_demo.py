"""The demo as a person meets it, cut short: it learns, is examined, and says honestly what was not reached."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SHORT = (
    "max_steps=4",
    "batch_size=3",
    "generated_problems=12",
    "eval_problems=12",
    "eval_every=4",
    "exam_problems=12",
    "save_every=4",
)


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtl_agent.cli.main", "demo", *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "COLUMNS": "160"},
    )


@pytest.mark.long
def test_the_demo_ends_with_an_exam_and_the_criteria(tmp_path: Path) -> None:
    run = tmp_path / "run"
    short = [word for pair in SHORT for word in ("--set", pair)]
    done = demo("--out", str(run), *short)
    assert done.returncode == 1, done.stderr  # four steps reach nothing
    assert "student before" in done.stdout
    assert "teacher" in done.stdout
    assert "not met" in done.stdout
    assert (run / "report.html").is_file()
    exam = json.loads((run / "exam.json").read_text())
    assert set(exam) == {"before", "after", "teacher"}
    before = exam["before"]["test"]["greedy"]["rates"]
    assert before["format_valid"] > 0.95
    assert before["pass_rate"] < 0.15
    assert exam["teacher"]["test"]["greedy"]["rates"]["pass_rate"] > 0.8  # 98 % of 240; of 12, two may fail


def test_a_wrong_option_is_said() -> None:
    done = demo("--set", "learning_speed=2")
    assert done.returncode == 2
    assert "there is no option learning_speed" in done.stderr

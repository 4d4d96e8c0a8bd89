"""A run as the training loop writes it, with answers that try to take over the page that shows them."""

import math
from pathlib import Path
from typing import Any

from rtl_agent.runs import Checkpoint, RunWriter

ATTACK = (
    "</pre></article><script>alert(1)</script><img src=x onerror=alert(2)>"
    "<a href='javascript:alert(3)'>x</a><link rel=stylesheet href=//evil.example/x.css>"
    "<style>@import 'https://evil.example/'</style><svg onload=alert(4)>\" onmouseover=\"alert(5)\x00\u202e\ud800"
)
CONFIG = {
    "student_model": "small",
    "teacher_model": "large",
    "seed": 1,
    "optim": {"learning_rate": 1e-4},
    ATTACK: ATTACK,
}


def write_run(path: Path, steps: int, *, attack: str = ATTACK) -> Path:
    with RunWriter.create(path, CONFIG, if_exists="raise") as run:
        if steps:
            run.write_held_out([asked("counter_10", "new", attack)])
            run.log_rollouts(0, [episode(0, 20, 20.0, attack)], kind="teacher")
        for step in range(steps):
            add_step(run, step, attack)
        if steps:
            run.add_checkpoint(Checkpoint(attack or "000001", steps, "state/1", best=True, value=0.5))
    return path


def add_step(run: RunWriter, step: int, attack: str = "") -> None:
    rate = 1 - math.exp(-step / 20)
    run.log_rollouts(step, [episode(step, number, rate, attack) for number in range(8)])
    metrics = {
        "env/all/reward/total": 0.4 + rate,
        "env/all/reward/format_valid": 0.1,
        "env/all/reward/syntax_valid": 0.3 * rate,
        "env/all/reward/tests_passed": rate,
        "env/all/format_valid": 1.0,
        "env/all/syntax_valid": rate,
        "env/all/tests_passed": rate,
        "env/all/pass_rate": rate,
        "teacher_kl": 1 - rate / 2,
        "optim/entropy": 0.5 - rate / 4 + 0.02 * (step % 3),
        "time/sample": 2.0 + step % 2,
        "time/grade": 1.0,
        "time/teacher": 0.5,
        "time/train": 1.5,
        "time/total": 4.0 + step % 2,
    }
    if step % 5 == 0:
        run.log_rollouts(step, [episode(step, number, rate, attack) for number in (20, 21)], kind="eval")
        metrics |= {"test/env/all/pass_rate": rate * 0.8, "test/env/all/reward/total": rate}
    run.log_metrics(step, metrics)


def asked(name: str, test_set: str, attack: str = "") -> dict[str, Any]:
    """A held-out problem as a run keeps it."""
    return {
        "problem_id": f"{name}{attack}",
        "set": test_set,
        "family": f"counter{attack}",
        "specification": f"Write a counter that counts.{attack}",
        "reference": {f"rtl/counter.sv{attack}": f"module counter (input clk);\n  // {attack}\nendmodule\n"},
    }


def episode(step: int, number: int, rate: float, attack: str) -> dict[str, Any]:
    passed = number / 8 < rate
    return {
        "problem_id": f"counter_{number // 2}{attack}",
        "family": f"counter{attack}",
        "messages": [{"role": "user", "content": f"Write a counter.{attack}"}],
        "sampled_tokens": [1, 2, 3],
        "text": f"```verilog\nmodule counter_{number} (input clk);\n  // {attack}\nendmodule\n```",
        "stop_reason": "stop",
        "reward": 1.4 if passed else 0.1 * number / 8,
        "reward_parts": {"format": 0.1, "tests": 1.0 if passed else 0.0},
        "grade": {
            "outcome": "passed" if passed else "failed",
            "stages": [
                {"name": "interface", "passed": passed, "notes": [] if passed else [f"`clk` is missing{attack}"]}
            ],
            "reasons": [] if passed else [f"test counts failed{attack}"],
            "tests": [
                {"name": f"counts{attack}", "passed": passed, "message": f"3 != 4{attack}", "where": "test.py:12"},
                {"name": "resets", "passed": True, "message": None},
            ],
            "diagnostics": [
                {"tool": "iverilog", "severity": "error", "file": "a.sv", "line": 3, "text": f"syntax error{attack}"}
            ],
        },
    }

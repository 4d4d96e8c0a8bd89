"""Ctrl-C: the step is dropped or finished, a checkpoint is saved, and the line that is printed resumes the run."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rtl_agent.training.interrupt import Interrupted, Stop
from tests.training.test_resume import OPTIONS, comparable, finish, metrics, weights

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def test_work_that_may_be_dropped_is_and_other_work_is_finished() -> None:
    async def run(may_drop: bool) -> tuple[str, list[str]]:
        stop, seen = Stop(), list[str]()

        async def work() -> str:
            stop.request()
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                seen.append("finished")
                return "result"
            except asyncio.CancelledError:
                seen.append("dropped")
                raise

        try:
            return await stop.unless_requested(work(), lambda: may_drop), seen
        except Interrupted:
            return "interrupted", seen

    assert asyncio.run(run(may_drop=True)) == ("interrupted", ["dropped"])
    assert asyncio.run(run(may_drop=False)) == ("result", ["finished"])


def test_nothing_new_is_begun_after_a_request() -> None:
    async def run() -> None:
        stop = Stop()
        stop.request()
        with pytest.raises(Interrupted):
            await stop.unless_requested(asyncio.sleep(0), lambda: True)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("stops", "killed", "options"),
    [
        pytest.param([(signal.SIGTERM, 2, 0.04)], False, [], id="once", marks=pytest.mark.long),
        pytest.param([(signal.SIGINT, 1, 0.0)], True, [], id="twice", marks=pytest.mark.slow),
        pytest.param(
            [(signal.SIGINT, 1, 0.0), (signal.SIGTERM, 1, 0.04)], True, [], id="thrice", marks=pytest.mark.slow
        ),
        pytest.param([(signal.SIGINT, 3, 0.08)], False, [], marks=pytest.mark.slow),
        pytest.param(
            [(signal.SIGINT, 2, 0.04)], True, ["max_steps_off_policy=2"], id="two steps ahead", marks=pytest.mark.slow
        ),
    ],
)
def test_a_stopped_run_ends_as_one_that_never_was(
    gates: Path, tmp_path: Path, stops: list[tuple[signal.Signals, int, float]], killed: bool, options: list[str]
) -> None:
    """Each stop: the signal, after how many more steps it comes, and how much later. At last it may be killed, too."""
    run = tmp_path / "stopped"
    command = ["train", "distill", f"cvdp_jsonl_path={gates}", f"log_path={run}", *OPTIONS, "save_every=0", *options]
    done = 0
    for number, more, later in stops:
        code, said = stopped([*command, "max_steps=500"], run, number, done + more, later)
        assert code == 130, said
        assert "Traceback" not in said
        assert "a checkpoint is saved" in said
        done = len(metrics(run))
        saved = (run / "checkpoints.jsonl").read_text().splitlines()
        assert f'"step": {done}' in saved[-1]
        last = said.strip().splitlines()[-1]
        assert f"stopped after {done} of 500 steps. Resume at step {done + 1} with: " in last
        rtl_agent, *command = shlex.split(last.partition("with: ")[2])
        assert [rtl_agent, *command] == ["rtl-agent", "train", "resume", str(run)]
    steps = done + 2
    if killed:
        code, said = stopped([*command, f"max_steps={steps}", "save_every=1"], run, signal.SIGKILL, done + 1, 0.2)
        assert code == -signal.SIGKILL, said
    again = subprocess.run(
        [sys.executable, "-m", "rtl_agent.cli.main", *command, f"max_steps={steps}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=ENVIRONMENT,
    )
    assert again.returncode == 0, again.stderr
    assert killed or f"resuming at step {done + 1} of {steps}" in again.stderr
    finish(gates, tmp_path / "unbroken", steps, options)
    assert comparable(run) == comparable(tmp_path / "unbroken")
    assert weights(run, steps) == weights(tmp_path / "unbroken", steps)


def stopped(command: list[str], run: Path, number: signal.Signals, after: int, later: float) -> tuple[int, str]:
    """Its exit code, and what it said on its way out."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rtl_agent.cli.main", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    log = run / "metrics.jsonl"
    while process.poll() is None and not (log.exists() and log.read_text().count("\n") >= after):
        time.sleep(0.01)
    time.sleep(later)
    process.send_signal(number)
    said = process.communicate(timeout=300)[1]
    return process.returncode, said

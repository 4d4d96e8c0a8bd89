"""What sampling ahead of training is worth: whole runs of `rtl-agent train`, by how far they sample ahead.

On a server that only waits, with the times of a large model on a hosted service; and on the embedded server, where
sampler and trainer share the cores of this machine and learn.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from rtl_agent.bench.report import Table
from rtl_agent.runs import RunRecord, read_run

# Of one step of the second seed experiment. Grading follows sampling, so the simulated sampler waits for both.
SAMPLE_SECONDS, GRADE_SECONDS, TRAIN_SECONDS = 44.0, 1.0, 31.0
MODEL = "rtl-agent/student"  # for its tokenizer
BATCH, GROUP = 4, 4
LEAST_REMOTE, LEAST_EMBEDDED = 1.5, 1.25
EVEN, TAILED = "every answer takes 44 s", "one answer in 16 takes four times that"


class RunFailed(Exception):
    """A run did not come to its end; the message has what it said."""


@dataclass(frozen=True)
class Overlap:
    """One run. Rates are of wall time, scaled back to that of the server that is simulated."""

    where: str
    ahead: int
    tail_tokens: int
    seed: int
    steps: int
    steps_per_hour: float
    idle_sampler: float
    idle_trainer: float
    pass_rate: float | None = None  # on held-out problems at the end
    before: float | None = None  # before the first step

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def measure_remote(folder: Path, scale: float, steps: int, on_run: Callable[[], None] = lambda: None) -> list[Overlap]:
    """`scale` is by how much faster time goes than on the server that is simulated."""
    from rtl_agent.bench.simulated import Latencies, waiting_server

    found = []
    for where, long_every in ((EVEN, 0), (TAILED, 16)):
        times = Latencies(
            (SAMPLE_SECONDS + GRADE_SECONDS) / scale, TRAIN_SECONDS / scale / (BATCH * GROUP), long_every=long_every
        )
        for ahead, tail in ((0, 0), (1, 0), (2, 0), *(((1, times.tokens),) if long_every else ())):
            name = f"{'tailed' if long_every else 'even'}-{ahead}-{tail}"
            with waiting_server(MODEL, times, folder / f"{name}-state") as (url, key):
                run = _train(
                    folder / name, {"TINKER_API_KEY": key}, "rl", f"backend={url}", f"model_name={MODEL}",
                    "generated_problems=64", f"batch_size={BATCH}", f"group_size={GROUP}", "max_tokens=512",
                    f"max_steps={steps}", "eval_every=0", "save_every=0", f"max_steps_off_policy={ahead}",
                    f"tail_tokens={tail}", "one_pass=false",
                )  # fmt: skip
            found.append(_overlap(run, where, ahead, tail, 0, scale))
            on_run()
    return found


def measure_embedded(
    folder: Path, seeds: int, words: Sequence[str], on_run: Callable[[], None] = lambda: None
) -> list[Overlap]:
    """The same run, on-policy and one step ahead, by turns: what loads the machine loads both."""
    found = []
    for seed in range(seeds):
        for ahead in (0, 1) if seed % 2 == 0 else (1, 0):
            name = f"embedded-{ahead}-{seed}"
            run = _train(folder / name, {}, "distill", *words, f"seed={seed}", f"max_steps_off_policy={ahead}")
            found.append(_overlap(run, "embedded", ahead, 0, seed, 1.0))
            on_run()
    return sorted(found, key=lambda one: (one.seed, one.ahead))


def _train(path: Path, environment: dict[str, str], *words: str) -> RunRecord:
    command = [sys.executable, "-m", "rtl_agent.cli.main", "train", *words, f"log_path={path}"]
    ended = subprocess.run(
        [*command, "behavior_if_log_dir_exists=resume"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    if ended.returncode:
        raise RunFailed(ended.stderr.strip()[-2000:])
    return read_run(path)


def _overlap(run: RunRecord, where: str, ahead: int, tail: int, seed: int, scale: float) -> Overlap:
    steps = [line for line in run.metrics if "time/total" in line]
    seconds = sum(line["time/total"] for line in steps)
    held_out = [line["test/env/all/pass_rate"] for line in run.metrics if "test/env/all/pass_rate" in line]
    return Overlap(
        where,
        ahead,
        tail,
        seed,
        len(steps),
        3600 * len(steps) / seconds / scale,
        sum(line.get("time/idle/sample", 0.0) for line in steps) / seconds,
        sum(line.get("time/idle/train", 0.0) for line in steps) / seconds,
        held_out[-1] if held_out else None,
        held_out[0] if held_out else None,
    )


def remote_table(found: Sequence[Overlap], scale: float) -> Table:
    heads = ("simulated server", "max_steps_off_policy", "tail_tokens", "steps an hour", "against 0", "sampler idle",
             "trainer idle")  # fmt: skip
    rows = []
    gains = []
    for one in found:
        base = next(other for other in found if other.where == one.where and not other.ahead)
        gain = one.steps_per_hour / base.steps_per_hour
        if one.ahead == 1 and not one.tail_tokens:
            gains.append(gain)
        rows.append((
            one.where, str(one.ahead), str(one.tail_tokens or ""), f"{one.steps_per_hour:.1f}", f"{gain:.2f}",
            f"{one.idle_sampler:.0%}", f"{one.idle_trainer:.0%}",
        ))  # fmt: skip
    good = "reached" if gains and min(gains) >= LEAST_REMOTE else "not reached"
    words = (
        f"Time goes {scale:g} times faster than on the server that is simulated; the first step, which nothing can "
        "overlap, counts.",
        f"One step ahead: {min(gains):.2f} and more; {LEAST_REMOTE} were wanted: {good}.",
    )
    return Table(heads, rows, words)


def embedded_table(found: Sequence[Overlap]) -> Table:
    heads = ("seed", "max_steps_off_policy", "steps an hour", "against 0", "sampler idle", "trainer idle",
             "held-out pass rate before", "after")  # fmt: skip
    rows = []
    gains = []
    for one in found:
        base = next(other for other in found if other.seed == one.seed and not other.ahead)
        gain = one.steps_per_hour / base.steps_per_hour
        if one.ahead:
            gains.append(gain)
        rows.append((
            str(one.seed), str(one.ahead), f"{one.steps_per_hour:.0f}", f"{gain:.2f}", f"{one.idle_sampler:.0%}",
            f"{one.idle_trainer:.0%}", _rate(one.before), _rate(one.pass_rate),
        ))  # fmt: skip
    good = "reached" if gains and mean(gains) >= LEAST_EMBEDDED else "not reached"
    rates = {ahead: [one.pass_rate or 0.0 for one in found if one.ahead == ahead] for ahead in (0, 1)}
    words = (
        f"One step ahead: {mean(gains):.2f} times the steps of an hour, {LEAST_EMBEDDED} were wanted: {good}. Held-out "
        f"pass rate at the end, mean over seeds: {mean(rates[0]):.1%} on-policy, {mean(rates[1]):.1%} one step ahead.",
        f"{sum(one.steps for one in found)} steps in all, {found[0].steps} in each run.",
    )
    return Table(heads, rows, words)


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"

"""Runs over a bad network, and with a grader that is behind, end as runs over a good one: nothing lost, nothing twice.

Both are compared to the bit: a rollout that was lost, a pass that was counted twice or an optimiser step that was made
twice would change the weights, and with them every sample after it.
"""

import asyncio
import random
from pathlib import Path

import pytest

from rtl_agent.backends.connect import Connection
from rtl_agent.grading import Grade
from rtl_agent.grading.executors import GradeJob, LocalExecutor
from rtl_agent.runs import read_run
from tests.training.conftest import RunIn
from tests.training.fault_proxy import FAULTS, Fault, faulty
from tests.training.on_policy_records import recorded
from tests.training.test_overlap_run import lines

START = ["learning_rate=1e-3", "eval_every=0", "save_every=2", "max_steps_off_policy=1"]


def same(one: Path, other: Path) -> None:
    assert lines(one) == lines(other)
    assert recorded(one)["episodes"] == recorded(other)["episodes"]
    assert spent(one) == spent(other)


def spent(run: Path) -> dict[str, float]:
    """At the end: what is counted when depends on when answers come, not how much."""
    return {name: value for name, value in read_run(run).metrics[-1].items() if name.startswith("cost/tokens")}


@pytest.mark.parametrize(
    ("mode", "steps", "budget", "kinds"),
    [
        pytest.param("rl", 3, 12, FAULTS, id="twelve faults of all kinds"),
        pytest.param("distill", 12, 80, FAULTS, id="80 faults of all kinds", marks=pytest.mark.slow),
        pytest.param("rl", 12, 40, ("slow",), id="40 slow answers", marks=pytest.mark.slow),
        pytest.param("rl", 12, 40, ("429", "503"), id="40 times too many requests", marks=pytest.mark.slow),
        pytest.param(
            "rl", 12, 40, ("broken before", "broken after", "broken in half"), id="40 broken connections",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_a_bad_network_changes_nothing(
    run_in: RunIn,
    server: Connection,
    taught: str,
    tmp_path: Path,
    mode: str,
    steps: int,
    budget: int,
    kinds: tuple[Fault, ...],
) -> None:
    words = [f"load_checkpoint_path={taught}", f"max_steps={steps}", *START]
    good = run_in(mode, *words, f"log_path={tmp_path / 'good'}")
    assert server.base_url is not None
    with faulty(server.base_url, budget, kinds=kinds) as proxy:
        bad = run_in(mode, *words, f"log_path={tmp_path / 'bad'}", f"backend={proxy.url}")
    assert proxy.total == budget, f"the run ended before it had met all faults: {proxy.done}"
    same(good, bad)


class Behind(LocalExecutor):
    """A grader that other work holds up: grades come late, and not in the order in which they were asked for."""

    chance = random.Random(0)

    async def run(self, job: GradeJob) -> Grade:
        await asyncio.sleep(self.chance.uniform(0.0, 2.0))
        return await super().run(job)


@pytest.mark.slow
def test_a_grader_that_is_behind_changes_nothing(
    run_in: RunIn, taught: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"load_checkpoint_path={taught}", "max_steps=4", *START]
    good = run_in("rl", *words, f"log_path={tmp_path / 'good'}")
    monkeypatch.setattr("rtl_agent.grading.grader.LocalExecutor", Behind)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # no grade comes from before
    late = run_in("rl", *words, f"log_path={tmp_path / 'late'}")
    same(good, late)

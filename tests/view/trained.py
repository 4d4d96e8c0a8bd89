"""Real runs to look at: two seeds of a distillation with a reward, agents in boxes, and an evaluation.

They are made once, whichever worker of the test run comes first; the others wait for it.
"""

import fcntl
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

import rtl_agent as ra
from rtl_agent.backends.connect import Connection
from rtl_agent.training.config import STUDENT
from rtl_agent.training.parse import parse
from rtl_agent.training.start import start

SEEDS = (0, 1)
GROUP = 4
SMALL = ("preset=embedded", "preflight_problems=0", "split_seed=0", "forward_kl_coef=1", "reward_coef=1")


def train(server: Connection, problems: str, path: Path, *words: str) -> None:
    where = [f"backend={server.base_url}", f"cvdp_jsonl_path={problems}", f"log_path={path}"]
    start(parse("distill", [*SMALL, *where, *words]), Console(file=io.StringIO()))


def make_runs(server: Connection, gates: Path, taught: str, calling: str, runs: Path) -> None:
    """What `runs` holds afterwards: gates-0, gates-1, agents, and mine.jsonl."""
    for seed in SEEDS:
        train(
            server, str(gates), runs / f"gates-{seed}", f"seed={seed}", f"load_checkpoint_path={taught}",
            "batch_size=3", f"group_size={GROUP}", "max_tokens=48", "max_steps=2", "eval_every=1", "eval_teacher=true",
        )  # fmt: skip
    train(
        server, "bundled", runs / "agents", "env=agentic", f"load_checkpoint_path={calling}", "heldout=false",
        "batch_size=1", "group_size=2", "max_turns=2", "max_steps=1", "eval_every=0",
    )  # fmt: skip
    ra.evaluate(str(gates), STUDENT, limit=2, max_tokens=48, backend=str(server.base_url), out=runs / "mine.json")


@contextmanager
def once(marker: Path) -> Iterator[bool]:
    """True for the first of several processes, alone; the others wait until it is through."""
    with marker.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not marker.exists()
        marker.touch()  # not after a failure: the next one tries again

"""The names in a run directory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CONFIG, METRICS, CHECKPOINTS, LOGS = "config.json", "metrics.jsonl", "checkpoints.jsonl", "logs.log"
CODE_DIFF, REPORT, LOCK, HELD_OUT = "code.diff", "report.html", ".lock", "held_out.jsonl"
ROLLOUTS, CHECKPOINT_FOLDER = "rollouts", "checkpoints"

_ROLLOUT_NAME = re.compile(r"([a-z]+)_(\d{6,})\.jsonl")


@dataclass(frozen=True)
class RolloutFile:
    """The episodes of a step (`step_000012.jsonl`), an evaluation (`eval_000010.jsonl`), or the teacher's own."""

    path: Path
    kind: str
    step: int


def rollout_path(run: Path, kind: str, step: int) -> Path:
    name = f"{kind}_{step:06d}.jsonl"
    if not _ROLLOUT_NAME.fullmatch(name):
        raise ValueError(
            f"rollouts of kind {kind!r} at step {step} have no file name: small letters, and a step from 0"
        )
    return run / ROLLOUTS / name


def rollout_files(run: Path) -> Iterator[RolloutFile]:
    """In the order of their steps."""
    found = ((path, _ROLLOUT_NAME.fullmatch(path.name)) for path in (run / ROLLOUTS).glob("*.jsonl"))
    files = [RolloutFile(path, match[1], int(match[2])) for path, match in found if match]
    yield from sorted(files, key=lambda file: (file.step, file.kind))


def is_run(path: Path) -> bool:
    """A config alone is no run: many a project has a config.json."""
    others = (METRICS, CHECKPOINTS, LOGS, LOCK)
    return (path / CONFIG).is_file() and any((path / name).is_file() for name in others)


def is_unused(path: Path) -> bool:
    """Missing, empty, or left by a run that was killed before it had a config."""
    return not path.exists() or all(child.name == LOCK or child.name == f".{CONFIG}.new" for child in path.iterdir())

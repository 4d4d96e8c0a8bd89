"""Where problems come from: the bundled set by its name, or JSONL files by their path."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rtl_agent.problems.errors import BadRecord, NoSuchProblems
from rtl_agent.problems.problem import Problem
from rtl_agent.problems.reader import read_problems

BUNDLED = "bundled"


def bundled_path() -> Path:
    """The folder of the bundled set's JSONL files."""
    return Path(str(files("rtl_agent.problems").joinpath("data")))


def load_problems(
    source: str, *, skip_bad: bool = False, on_bad: Callable[[BadRecord], None] | None = None
) -> list[Problem]:
    """The problems of `bundled`, of a JSONL file, or of a folder of JSONL files."""
    path = bundled_path() if source == BUNDLED else Path(source)
    if not path.exists():
        raise NoSuchProblems(f"{source} does not exist; name a JSONL file, a folder of them, or `{BUNDLED}`")
    return read_problems(path, skip_bad=skip_bad, on_bad=on_bad)


@dataclass(frozen=True)
class NearMiss:
    """A wrong design for a bundled problem: plausible, compiling, and not what was asked."""

    problem_id: str
    name: str
    wrong: str  # what is wrong, in a sentence
    files: Mapping[str, str]


def load_near_misses() -> list[NearMiss]:
    """The hand-written wrong designs of the bundled set."""
    path = bundled_path() / "near_misses" / "near_misses.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [NearMiss(record["id"], record["name"], record["wrong"], record["files"]) for record in records]

"""The problems of a run, loaded again: for references, categories and the commands that grade an answer once more.

A run may come from anywhere, so its config is not obeyed: it can name the bundled problems, generated ones up to a
number, and regular files. Loading happens in the background; whoever cannot wait goes without.
"""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from rtl_agent.problems import Problem, ProblemGenerator, load_problems
from rtl_agent.problems.problem import NoSuchProblems
from rtl_agent.problems.sources import (
    BUNDLED,
    GENERATED,
    PROBLEM_SOURCES,
    TEST_SEED,
    WORKSPACES,
    emphasised_families,
    matching_families,
)

PER_FAMILY = 8  # of each held-out set, as training draws them
MOST_DRAWN = 20_000
MOST_BYTES = 1 << 30
KEPT = 6  # sources; CVDP's largest file has 20 MB


class Shelf:
    """Sets of problems by what names them, each loaded once, in the background."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sets: dict[str, Future[Mapping[str, Problem]]] = {}

    def get(self, source: str, seconds: float = 0.0) -> Mapping[str, Problem] | None:
        """By id; empty where they cannot be had, None where they are still being loaded."""
        key = f"{source} {_stamp(source)}"
        with self._lock:
            found = self._sets.pop(key, None)
            if found is None:
                found = Future()
                Thread(target=_load, args=(source, found), daemon=True).start()
            self._sets[key] = found
            while len(self._sets) > KEPT:
                del self._sets[next(iter(self._sets))]
        with suppress(NotYet):
            return found.result(seconds)
        return None

    def find(self, sources: Sequence[str], problem_id: str, seconds: float) -> tuple[str, Problem] | None:
        """The problem, and the first source that has it."""
        for source in sources:
            problems = self.get(source, seconds)
            if problems is not None and problem_id in problems:
                return source, problems[problem_id]
        return None


def _load(source: str, found: "Future[Mapping[str, Problem]]") -> None:
    try:
        problems = load_problems(source, skip_bad=True) if _is_harmless(source) else []
        found.set_result({problem.id: problem for problem in problems})
    except Exception:  # whatever a file of somebody else makes of a reader, the page goes on without it
        found.set_result({})


def _is_harmless(source: str) -> bool:
    name = source.partition(":")[0]
    if name in (BUNDLED, GENERATED, WORKSPACES):
        return all(int(count) <= MOST_DRAWN for count in re.findall(r"count=([0-9]{1,4000})", source))
    if name in PROBLEM_SOURCES:  # another package's: it may do anything
        return False
    path = Path(source)
    files = list(path.glob("*.jsonl")) if path.is_dir() else [path]
    return all(file.is_file() and file.stat().st_size < MOST_BYTES for file in files)


def _stamp(source: str) -> int:
    try:
        return Path(source).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def sources_of_run(config: Mapping[str, Any]) -> list[str]:
    """What a run learned from and was tested on, as PROBLEMS of any command."""
    named = config.get("cvdp_jsonl_path", config.get("source"))
    if not isinstance(named, str) or not named:
        return []
    source = PROBLEM_SOURCES[named] if named in (GENERATED, WORKSPACES) else None
    if not isinstance(source, ProblemGenerator):
        return [named]
    patterns, emphasis = (_text(config.get(name)) for name in ("problems", "emphasis"))
    count, tested = _number(config.get("generated_problems")), _number(config.get("eval_problems"))
    seed = config.get("seed")
    try:
        families = matching_families(source, patterns)
        drawn = emphasised_families(source, patterns, emphasis)
    except NoSuchProblems:
        return []
    asked = tested or PER_FAMILY * len(families)
    held_out = f"seed={TEST_SEED},count={asked},split=held-out"
    found = [_spec(named, drawn, source, f"seed={seed},count={count},split=train")] if count else []
    found.append(_spec(named, families, source, held_out))
    if source.new_families and not patterns:
        of_new = max(1, asked * len(source.new_families) // len(families))
        found.append(f"{named}:new,seed={TEST_SEED},count={of_new},split=held-out")
    return found


def sources_of_evaluation(settings: Mapping[str, Any]) -> list[str]:
    named = _text(settings.get("problems"))
    return [named] if named else []


def _spec(name: str, families: Sequence[str], source: ProblemGenerator, rest: str) -> str:
    chosen = [] if list(families) == list(source.families) else families
    return f"{name}:{','.join([*chosen, rest])}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= MOST_DRAWN else 0

"""The problem that a rollout answers, loaded again from what its run was made with.

A run may come from anywhere, so its config is not obeyed: it can name the bundled problems, generated ones up to a
number, and files and folders of this machine.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, ProblemGenerator, Split, find_source, load_problems
from rtl_agent.problems.sources import BUNDLED, GENERATED, TEST_SEED, WORKSPACES

MOST_DRAWN = 20_000
_PER_FAMILY = 8  # of each held-out set, as training draws them


def find_problem(config: Mapping[str, Any], problem_id: str) -> Problem | None:
    """By a run's config or an evaluation's settings; then among the bundled ones."""
    groups = [config, *(value for value in config.values() if isinstance(value, Mapping))]
    options = {key: value for group in groups for key, value in group.items()}
    named = options.get("cvdp_jsonl_path") or options.get("source") or options.get("problems")
    for source in (named, BUNDLED):
        try:
            problems = _problems(source, options) if isinstance(source, str) and source else []
        except (NoSuchProblems, BadRecord, OSError, ValueError):
            continue
        if found := next((problem for problem in problems if problem.id == problem_id), None):
            return found
    return None


def _problems(source: str, options: Mapping[str, Any]) -> list[Problem]:
    find, argument = find_source(source)
    if source.partition(":")[0] not in (GENERATED, WORKSPACES) or not isinstance(find, ProblemGenerator):
        harmless = source == BUNDLED or Path(source).is_dir() or Path(source).is_file()
        return load_problems(source, skip_bad=True) if harmless else []
    if argument:
        counts = re.findall(r"count=(\d{1,99})", argument)
        return load_problems(source) if all(int(count) <= MOST_DRAWN for count in counts) else []
    drawn: list[Problem] = []
    seed, count = options.get("seed"), options.get("generated_problems")
    if isinstance(seed, int) and isinstance(count, int) and 0 < count <= MOST_DRAWN:
        drawn += find.draw(seed, count)
    held_out = _PER_FAMILY * len(find.families)
    drawn += find.draw(TEST_SEED, held_out, families=find.families, split=Split.HELD_OUT)
    return drawn + find.draw(TEST_SEED, held_out, families=find.new_families, split=Split.HELD_OUT)

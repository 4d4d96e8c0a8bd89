"""Verified answers: what a harness has accepted in earlier runs and evaluations, for problems without a reference."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rtl_agent.grading import Extraction, extract, submit
from rtl_agent.problems import Problem
from rtl_agent.runs.episode import Episode

Files = Mapping[str, str]


def verified_answers(folder: Path, problems: Sequence[Problem]) -> dict[str, list[Files]]:
    """Problem id -> the files of answers that passed, each once. Every JSONL file below is looked at."""
    by_id = {problem.id: problem for problem in problems}
    found: dict[str, list[Files]] = defaultdict(list)
    for path in sorted(folder.rglob("*.jsonl")):
        for episode in _episodes(path):
            problem = by_id.get(episode.problem_id)
            if problem is not None and episode.passed:
                files = _files(problem, episode)
                if files and files not in found[problem.id]:
                    found[problem.id].append(files)
    return found


def _episodes(path: Path) -> Iterator[Episode]:
    """Of rollouts and of evaluations; lines of anything else are passed over."""
    with path.open(errors="replace") as lines:
        for line in lines:
            try:
                data = json.loads(line)
                data = data.get("episode", data)
                if isinstance(data, dict) and "problem_id" in data and "grade" in data:
                    yield Episode.from_json(data)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _files(problem: Problem, episode: Episode) -> Files:
    if episode.files:
        return submit(problem, episode.files).files
    how = episode.grade.extraction if episode.grade is not None else ""
    read = extract(problem, episode.text, Extraction(how) if how in set(Extraction) else Extraction.FORGIVING)
    return {} if read.unusable else read.files

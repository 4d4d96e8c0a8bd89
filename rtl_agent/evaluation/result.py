"""The result of an evaluation as JSON: every number, and all that is needed to get it again."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rtl_agent import __version__
from rtl_agent.envs.episode_config import Level
from rtl_agent.evaluation.samples import Asked
from rtl_agent.evaluation.settings import EvaluationSettings
from rtl_agent.evaluation.summary import Summary, by_group, summarise
from rtl_agent.problems import Problem, problem_digest
from rtl_agent.runs import write_whole
from rtl_agent.runs.files import plain

FORM = 2  # of this JSON
PACKAGES = ("tinker", "tinker-cookbook", "torch")


@dataclass(frozen=True)
class EvaluationResult:
    """What an evaluation found. `whole` has pass@k and rewards, `groups` the same by category, difficulty, family."""

    settings: EvaluationSettings
    samples_each: int
    ks: tuple[int, ...]
    problems: tuple[Problem, ...]
    left_out: tuple[str, ...]
    asked: Asked
    samples_file: Path
    notes: tuple[str, ...] = ()  # what the numbers' reader must know
    trust: Mapping[str, Any] = field(default_factory=dict)  # of the problems' tests, by which audit

    @property
    def whole(self) -> Summary:
        return summarise(self.asked.samples, self.ks)

    @property
    def groups(self) -> dict[str, dict[str, Summary]]:
        return by_group(self.asked.samples, self.problems, self.ks)

    @property
    def is_score(self) -> bool:
        """A model that has seen the harness was not measured."""
        return self.settings.episode.level != Level.OPEN

    def to_json(self) -> dict[str, Any]:
        per_problem: dict[str, list[Any]] = {problem.id: [] for problem in self.problems}
        for sample in self.asked.samples:
            per_problem[sample.episode.problem_id].append(sample)
        return {
            "form": FORM,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "is_score": self.is_score,
            "settings": self.settings.to_json(),
            "samples_each": self.samples_each,
            "k": list(self.ks),
            "summary": self.whole.to_json(),
            "by": {name: {part: one.to_json() for part, one in parts.items()} for name, parts in self.groups.items()},
            "interval": "95 %, Wilson's over problems, of the unbiased pass@k",
            "problems": [
                {
                    "id": problem.id,
                    "digest": problem_digest(problem),
                    "category": problem.category,
                    "difficulty": problem.difficulty,
                    "family": problem.family,
                    "samples": len(per_problem[problem.id]),
                    "passed": sum(sample.passed for sample in per_problem[problem.id]),
                    "rewards": [sample.episode.reward for sample in per_problem[problem.id]],
                }
                for problem in self.problems
            ],
            "trust": dict(self.trust),
            "errors": {"count": len(self.asked.lost), "samples": [asdict(lost) for lost in self.asked.lost]},
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "tokens": _tokens(self.asked),
            "seconds": round(sum(sample.seconds for sample in self.asked.samples), 3),
            "samples_file": self.samples_file.name,
            "versions": versions(),
        }

    def write(self, path: Path) -> None:
        write_whole(path, (json.dumps(plain(self.to_json()), indent=2, allow_nan=False) + "\n").encode())


def versions() -> dict[str, str]:
    found = {"rtl-agent": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _tokens(asked: Asked) -> dict[str, int]:
    names: Sequence[str] = ("prompt", "answer")
    return {name: sum(sample.usage.get(name, 0) for sample in asked.samples) for name in names}

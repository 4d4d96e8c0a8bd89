"""How good a model, the student or its teacher, is at problems that it is not trained on: evaluations and the exam.

An exam is on problems that are used for nothing else. One greedy answer to each decides; samples at temperature 1 tell
how much probability right answers have (pass@1), and whether they have any (pass@k). Evaluations during a run have
other problems, so choosing a checkpoint by them does not spoil the exam.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tinker

from rtl_agent.envs.rollout import Policy, Spent, gather_or_cancel, seed_of, unmetered
from rtl_agent.problems import Problem
from rtl_agent.runs import write_whole
from rtl_agent.training.config import Config
from rtl_agent.training.metrics import episode_metrics
from rtl_agent.training.rollouts import Group, play_group
from rtl_agent.training.tasks import TrainingTasks


@dataclass(frozen=True)
class Evaluation:
    """`metrics` are named test/env/all/... and, for families never trained on, new/env/all/..."""

    groups: tuple[Group, ...]
    metrics: dict[str, float]


async def evaluate(tasks: TrainingTasks, policy: Policy, samples: int) -> Evaluation:
    """`samples` answers to each problem of every test set, no teacher."""
    began = time.monotonic()
    everything: list[Group] = []
    metrics: dict[str, float] = {}
    for name, problems in tasks.tests.items():
        groups = await gather_or_cancel(play_group(tasks.builder(one, samples), policy) for one in problems)
        metrics |= {f"{name}/{metric}": value for metric, value in episode_metrics(groups).items()}
        metrics[f"{name}/grading/errors"] = float(sum(len(group.lost) for group in groups))
        everything += groups
    metrics["time/eval"] = time.monotonic() - began
    return Evaluation(tuple(everything), metrics)


def held_out(tests: Mapping[str, tuple[Problem, ...]]) -> list[dict[str, Any]]:
    """The problems of every test set as the run keeps them: beside the answers, a report needs what was asked."""
    return [
        {
            "problem_id": problem.id,
            "set": name,
            "family": problem.family,
            "specification": problem.prompt,
            "reference": dict(problem.reference) if problem.reference else None,
        }
        for name, problems in tests.items()
        for problem in problems
    ]


FILE = "exam.json"
BEFORE, AFTER, TEACHER = "before", "after", "teacher"
RATES = ("reward/total", "format_valid", "interface_valid", "syntax_valid", "tests_passed", "pass_rate")


@dataclass(frozen=True)
class ExamResult:
    """One set of problems, answered in one way. `pass_at_k` is the share of problems that any of k answers solved."""

    problems: int
    k: int
    rates: Mapping[str, float]
    pass_at_k: float
    families: Mapping[str, float]  # pass rate by family
    lost: int  # answers that could not be graded, by no fault of the model

    @property
    def pass_rate(self) -> float:
        return self.rates.get("pass_rate", 0.0)

    @property
    def reward(self) -> float:
        return self.rates.get("reward/total", 0.0)


@dataclass(frozen=True)
class Exam:
    """Sets of problems by name, asked as the run asks."""

    config: Config
    tasks: TrainingTasks
    sets: Mapping[str, Sequence[Problem]]
    directory: Path

    async def examine(
        self, who: str, client: tinker.SamplingClient, tasks: TrainingTasks | None = None, spent: Spent = unmetered
    ) -> None:
        """Ask and keep the results; what was kept by an earlier start of the run stays as it is.

        `tasks` asks in the tokens of another model than the student.
        """
        kept = read(self.directory)
        if not self.sets or who in kept:
            return
        found: dict[str, Any] = {}
        for name, problems in self.sets.items():
            samples = self.config.eval.exam_samples
            found[name] = {
                "greedy": asdict(await self._ask(self._policy(client, 0.0, spent), problems, 1, tasks)),
                "sampled": asdict(await self._ask(self._policy(client, 1.0, spent), problems, samples, tasks)),
            }
        write_whole(self.directory / FILE, json.dumps({**kept, who: found}, indent=1).encode())

    def forget(self, who: str) -> None:
        """A run that goes on makes what was found at its earlier end a thing of the past."""
        kept = read(self.directory)
        if kept.pop(who, None) is not None:
            write_whole(self.directory / FILE, json.dumps(kept, indent=1).encode())

    def _policy(self, client: tinker.SamplingClient, temperature: float, spent: Spent) -> Policy:
        seed = seed_of("exam", temperature)
        return Policy(client, self.config.episode.max_tokens, temperature, seed, spent=spent)

    async def _ask(
        self, policy: Policy, problems: Sequence[Problem], samples: int, tasks: TrainingTasks | None
    ) -> ExamResult:
        builders = [(tasks or self.tasks).builder(one, samples) for one in problems]
        return result(await gather_or_cancel(play_group(builder, policy) for builder in builders), samples)


def result(groups: Sequence[Group], samples: int) -> ExamResult:
    metrics = episode_metrics(groups)
    solved: dict[str, list[float]] = defaultdict(list)
    for group in groups:
        passed = [rollout.episode.passed for rollout in group.rollouts]
        if passed:
            solved[group.problem.family].append(sum(passed) / len(passed))
    shares = [share for of_family in solved.values() for share in of_family]
    return ExamResult(
        problems=len(shares),
        k=samples,
        rates={name: metrics[f"env/all/{name}"] for name in RATES if f"env/all/{name}" in metrics},
        pass_at_k=sum(share > 0 for share in shares) / max(1, len(shares)),
        families={name: sum(found) / len(found) for name, found in sorted(solved.items())},
        lost=sum(len(group.lost) for group in groups),
    )


def read(directory: Path) -> dict[str, Any]:
    """The results that a run has kept, as JSON: who -> set -> way -> ExamResult."""
    file = directory / FILE
    found: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    return found


def results(directory: Path) -> dict[str, dict[str, dict[str, ExamResult]]]:
    """The same as objects."""
    return {
        who: {name: {way: ExamResult(**one) for way, one in ways.items()} for name, ways in sets.items()}
        for who, sets in read(directory).items()
    }

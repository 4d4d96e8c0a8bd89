"""How good a model, the student or its teacher, is at problems that nobody trains on."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtl_agent.envs.rollout import Policy, gather_or_cancel
from rtl_agent.problems import Problem
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

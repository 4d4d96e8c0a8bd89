"""How good the student is at problems of families that it never trains on."""

import asyncio
from dataclasses import dataclass

from rtl_agent.training.classroom import Classroom
from rtl_agent.training.group import Group
from rtl_agent.training.metrics import episode_metrics
from rtl_agent.training.rollouts import Policy, play_group


@dataclass(frozen=True)
class Evaluation:
    """`metrics` are named test/env/all/... and, for families never trained on, new/env/all/..."""

    groups: tuple[Group, ...]
    metrics: dict[str, float]


async def evaluate(classroom: Classroom, policy: Policy, samples: int) -> Evaluation:
    """`samples` answers to each problem of every test set, no teacher."""
    everything: list[Group] = []
    metrics: dict[str, float] = {}
    for name, problems in classroom.tests.items():
        groups = await asyncio.gather(*(play_group(classroom.builder(one, samples), policy) for one in problems))
        metrics |= {f"{name}/{metric}": value for metric, value in episode_metrics(groups).items()}
        metrics[f"{name}/grading/errors"] = float(sum(len(group.lost) for group in groups))
        everything += groups
    metrics["time/eval"] = policy.clock.metrics()["time/total"]
    return Evaluation(tuple(everything), metrics)

"""How good the student is at problems of families that it never trains on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rtl_agent.problems import Problem
from rtl_agent.training.classroom import Classroom
from rtl_agent.training.group import Group
from rtl_agent.training.metrics import episode_metrics
from rtl_agent.training.rollouts import Policy, play_group


@dataclass(frozen=True)
class Evaluation:
    """`metrics` are named test/env/all/..."""

    groups: tuple[Group, ...]
    metrics: dict[str, float]


async def evaluate(classroom: Classroom, problems: Sequence[Problem], policy: Policy, samples: int) -> Evaluation:
    """`samples` answers to each problem, no teacher."""
    groups = await asyncio.gather(*(play_group(classroom.builder(one, samples), policy) for one in problems))
    metrics = {f"test/{name}": value for name, value in episode_metrics(groups).items()}
    metrics["test/grading/errors"] = float(sum(len(group.lost) for group in groups))
    metrics["time/eval"] = policy.clock.metrics()["time/total"]
    return Evaluation(tuple(groups), metrics)

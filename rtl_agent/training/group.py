"""One problem's rollouts, with everything that belongs to them in one object: nothing can get out of step."""

from dataclasses import dataclass

import tinker
from tinker_cookbook.rl.types import Trajectory, TrajectoryGroup

from rtl_agent.runs.episode import Episode
from rtl_agent.problems import Problem
from rtl_agent.teachers import Advice


@dataclass(frozen=True)
class Rollout:
    """One episode. `data` is its tokens as the trainer wants them, `advice` the teacher's on each of these."""

    episode: Episode
    trajectory: Trajectory
    data: tuple[tinker.Datum, ...]
    advice: tuple[Advice, ...] = ()

    @property
    def reward(self) -> float:
        return sum(transition.reward for transition in self.trajectory.transitions)


@dataclass(frozen=True)
class Group:
    """The rollouts of one problem that came to their end, and why the others did not."""

    problem: Problem
    rollouts: tuple[Rollout, ...]
    lost: tuple[str, ...] = ()

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(rollout.reward for rollout in self.rollouts)

    @property
    def differs(self) -> bool:
        """Some rollouts did better than others: only then does the reward teach anything."""
        return len(set(self.rewards)) > 1

    @property
    def advised(self) -> bool:
        return any(rollout.advice for rollout in self.rollouts)

    def as_trajectories(self) -> TrajectoryGroup:
        """In the cookbook's form, for its metrics."""
        return TrajectoryGroup(
            trajectories_G=[rollout.trajectory for rollout in self.rollouts],
            final_rewards_G=[0.0] * len(self.rollouts),
            metrics_G=[{} for _ in self.rollouts],
        )

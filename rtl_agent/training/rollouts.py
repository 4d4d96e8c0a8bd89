"""A group of rollouts of one problem: sampled, graded and advised on, each as soon as it can be."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import tinker
from tinker_cookbook.rl.types import Trajectory, TrajectoryGroup

from rtl_agent.envs.env import EpisodeEnv, ProblemGroupBuilder
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.rollout import Policy, SeededCompleter, gather_or_cancel, play_episode
from rtl_agent.problems import Problem
from rtl_agent.runs.episode import Episode
from rtl_agent.teachers import Advice
from rtl_agent.training.advisor import Advisor
from rtl_agent.training.datums import trajectory_to_data

GROUPINGS: Mapping[str, Callable[[Problem], str]] = {
    "category": lambda problem: problem.category,
    "difficulty": lambda problem: problem.difficulty,
    "family": lambda problem: problem.family,
}


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
    """The rollouts of one problem that came to their end, and why the others did not.

    Everything that belongs to a rollout is in one object: nothing can get out of step.
    """

    problem: Problem
    rollouts: tuple[Rollout, ...]
    lost: tuple[str, ...] = ()
    age: int = 0  # steps between the weights that sampled it and those that it trains
    dropped: bool = False  # it was late, and not waited for

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(rollout.reward for rollout in self.rollouts)

    @property
    def differs(self) -> bool:
        """Some rollouts did better than others: only then does the reward teach anything."""
        return len(set(self.rewards)) > 1

    @property
    def solved(self) -> int:
        """Answers that passed."""
        return sum(rollout.episode.passed for rollout in self.rollouts)

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


async def play_group(builder: ProblemGroupBuilder, policy: Policy, advisor: Advisor | None = None) -> Group:
    """All episodes of a group at once. What fails leaves the group and is said; it is never a reward of 0."""
    envs = await builder.make_envs()
    try:
        played = await gather_or_cancel(
            _rollout(builder, env, policy.completer(builder.problem.id, index), advisor)
            for index, env in enumerate(envs)
        )
    finally:
        await builder.cleanup()
    rollouts = tuple(one for one in played if isinstance(one, Rollout))
    return Group(builder.problem, rollouts, tuple(one for one in played if isinstance(one, str)))


async def _rollout(
    builder: ProblemGroupBuilder, env: EpisodeEnv, completer: SeededCompleter, advisor: Advisor | None
) -> Rollout | str:
    """A rollout, or why there is none."""
    try:
        played = await play_episode(env, completer)
    except EpisodeFailed as failure:
        return str(failure)
    data = tuple(trajectory_to_data(played.trajectory)) if has_logprobs(played.trajectory) else ()
    if advisor is None:
        return Rollout(played.episode, played.trajectory, data)
    with completer.policy.during("teacher"):
        advice = await advisor.advise(builder, played, data, completer.policy.client)
    return Rollout(played.episode, played.trajectory, data, advice)


def has_logprobs(trajectory: Trajectory) -> bool:
    """Whether it can be trained on: some servers that a teacher answers on tell tokens only."""
    return all(len(turn.ac.maybe_logprobs or ()) == len(turn.ac.tokens) for turn in trajectory.transitions)


def metrics_by_group(groups: Iterable[Group]) -> dict[str, float]:
    """env/category/<name>/reward and .../pass_rate, and the same by difficulty and by family.

    Means over problems, so that one that lost rollouts weighs the same as the others.
    """
    rewards: dict[str, list[float]] = defaultdict(list)
    passes: dict[str, list[float]] = defaultdict(list)
    for group in groups:
        if not group.rollouts:
            continue
        count = len(group.rollouts)
        for grouping, name_of in GROUPINGS.items():
            name = f"env/{grouping}/{name_of(group.problem)}"
            rewards[name].append(sum(group.rewards) / count)
            passes[name].append(sum(rollout.episode.passed for rollout in group.rollouts) / count)
    found = {}
    for name in sorted(rewards):
        found[f"{name}/reward"] = sum(rewards[name]) / len(rewards[name])
        found[f"{name}/pass_rate"] = sum(passes[name]) / len(passes[name])
    return found

"""A step's numbers, under the same names in every mode."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tinker_cookbook.rl.metric_util import compute_trajectory_metrics

from rtl_agent.training.advantages import Floats, Lesson
from rtl_agent.training.rollouts import Group, metrics_by_group

NO_SIGNAL, LOST, GROUPS_LOST = "groups/no_signal", "grading/errors", "groups/lost"
REWARD, PASS_RATE = "env/all/reward/total", "env/all/pass_rate"


def episode_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """env/all/...: rewards, their parts, rates, tokens and turns; rewards and pass rates by category and so on."""
    trajectories = [group.as_trajectories() for group in groups if group.rollouts]
    if not trajectories:
        return {}
    found = compute_trajectory_metrics(trajectories, [["cvdp"] for _ in trajectories])
    return {name: float(value) for name, value in found.items()} | metrics_by_group(groups)


def signal_metrics(groups: Sequence[Group], lessons: Sequence[Lesson]) -> dict[str, float]:
    """Which groups taught nothing by their reward, what was lost, and how far the teacher is."""
    with_rollouts = [group for group in groups if group.rollouts]
    same = sum(not group.differs for group in with_rollouts)
    advised = sum(lesson.advised_tokens for lesson in lessons)
    found = {
        NO_SIGNAL: same / len(with_rollouts) if with_rollouts else 0.0,
        LOST: float(sum(len(group.lost) for group in groups)),
        GROUPS_LOST: float(len(groups) - len(with_rollouts)),
    }
    if advised:
        found["teacher_kl"] = sum(lesson.kl_sum for lesson in lessons) / advised
    return found


def policy_metrics(lessons: Sequence[Lesson], trained: Sequence[Floats]) -> dict[str, float]:
    """Entropy, and the distance between the logprobs at sampling and those that the trainer computed, if it did."""
    sampled = [one for lesson in lessons for one in lesson.sampled]
    masks = [one for lesson in lessons for one in lesson.mask]
    if not any(mask.any() for mask in masks):
        return {}
    then = _on_actions(sampled, masks)
    found = {"optim/entropy": float(-then.mean())}
    if trained:
        difference = then - _on_actions(trained, masks)
        found["optim/kl_sample_train_v1"] = float(difference.mean())
        found["optim/kl_sample_train_v2"] = float(0.5 * (difference**2).mean())
    return found


def _on_actions(logprobs: Sequence[Floats], masks: Sequence[Floats]) -> NDArray[np.float64]:
    chosen = [one[mask > 0] for one, mask in zip(logprobs, masks, strict=True)]
    return np.concatenate(chosen).astype(np.float64)

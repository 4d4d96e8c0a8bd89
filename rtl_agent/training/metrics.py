"""A step's numbers, under the same names in every mode."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tinker_cookbook.rl.metric_util import compute_trajectory_metrics

from rtl_agent.teachers import Alignment
from rtl_agent.training.objective import Floats, TrainingBatch
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.rollouts import Group, metrics_by_group

NO_SIGNAL, LOST, GROUPS_LOST = "groups/no_signal", "grading/errors", "groups/lost"
EFFECTIVE = "groups/with_signal"  # how many: the problems of a step that its reward teaches something of
ALIGNED = "align/content"  # the share of the text that both read which the teacher scored
UNSCORED = "align/unscored/"
REWARD, PASS_RATE = "env/all/reward/total", "env/all/pass_rate"


def episode_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """env/all/...: rewards, their parts, rates, tokens and turns; rewards and pass rates by category and so on."""
    trajectories = [group.as_trajectories() for group in groups if group.rollouts]
    if not trajectories:
        return {}
    found = compute_trajectory_metrics(trajectories, [["cvdp"] for _ in trajectories])
    return {name: float(value) for name, value in found.items()} | metrics_by_group(groups)


def signal_metrics(groups: Sequence[Group], batches: Sequence[TrainingBatch]) -> dict[str, float]:
    """Which groups taught nothing by their reward, what was lost, and how far the teacher is."""
    with_rollouts = [group for group in groups if group.rollouts]
    same = sum(not group.differs for group in with_rollouts)
    advised = sum(batch.advised_tokens for batch in batches)
    found = {
        NO_SIGNAL: same / len(with_rollouts) if with_rollouts else 0.0,
        EFFECTIVE: float(len(with_rollouts) - same),
        LOST: float(sum(len(group.lost) for group in groups)),
        GROUPS_LOST: float(len(groups) - len(with_rollouts)),
    }
    if advised:
        kl = sum(batch.kl_sum for batch in batches)
        found["teacher_kl"] = kl / advised
        if read := sum(batch.advised_bytes for batch in batches):
            found["teacher_kl_per_byte"] = kl / read
    return found | alignment_metrics(batches)


def alignment_metrics(batches: Sequence[TrainingBatch]) -> dict[str, float]:
    """How well a teacher that reads other tokens could be compared with the student; nothing for one that does not."""
    total = Alignment()
    for batch in batches:
        if batch.alignment is not None:
            total.add(batch.alignment)
    if not total.content:
        return {}
    sampled = total.scored + total.unscored.total()
    ends = [one for batch in batches for one in batch.end_kl]
    found = {
        ALIGNED: total.scored / total.content,
        "align/scored": total.scored / sampled,
        "align/longest_chunk_bytes": float(total.longest),
        "align/inside_pretoken": total.inside_pretokens / max(1, total.boundaries),
        "align/non_canonical": 1.0 - total.canonical / total.examined if total.examined else 0.0,
        **{f"align/{kind}": total.kinds[kind] / max(1, total.scored) for kind in ("1:1", "1:m", "n:1", "n:m")},
        **{f"{UNSCORED}{cause}": count / sampled for cause, count in sorted(total.unscored.items())},
    }
    if positions := total.soft + total.no_soft.total():
        found["align/forward_positions"] = total.soft / positions
        found["align/forward_mass"] = total.soft_mass / max(1, total.soft)
        found |= {f"align/no_forward/{cause}": count / positions for cause, count in sorted(total.no_soft.items())}
    if ends:
        found["align/end_of_turn_kl"] = sum(ends) / len(ends)
    return found


def policy_metrics(batches: Sequence[TrainingBatch], trained: Sequence[Floats]) -> dict[str, float]:
    """Entropy, and the distance between the logprobs at sampling and those that the trainer computed, if it did."""
    sampled = [one for batch in batches for one in batch.sampled]
    masks = [one for batch in batches for one in batch.mask]
    if not any(mask.any() for mask in masks):
        return {}
    then = _on_actions(sampled, masks)
    found = {"optim/entropy": float(-then.mean())}
    if trained:
        difference = then - _on_actions(trained, masks)
        found["optim/kl_sample_train_v1"] = float(difference.mean())
        found["optim/kl_sample_train_v2"] = float(0.5 * (difference**2).mean())
    return found


def off_policy_metrics(
    groups: Sequence[Group], batches: Sequence[TrainingBatch], trained: Sequence[Floats], options: OverlapConfig
) -> dict[str, float]:
    """How old what was trained on is, and how far its weights have moved since; nothing of a run that is on-policy.

    Ratios are of single tokens, p_trainer / p_sampler before the step. `ess` is the share of tokens that equally
    weighted ones would need for the same variance: 1 while all ratios are equal.
    """
    if options.is_on_policy:
        return {}
    ages = [group.age for group in groups if group.rollouts]
    found = {
        "off_policy/late_groups": float(sum(age > options.max_steps_off_policy for age in ages)),
        "off_policy/dropped_groups": float(sum(group.dropped for group in groups)),
    }
    if ages:
        found |= {"off_policy/age_mean": float(np.mean(ages)), "off_policy/age_max": float(max(ages))}
    masks = [one for batch in batches for one in batch.mask]
    if trained and any(mask.any() for mask in masks):
        sampled = [one for batch in batches for one in batch.sampled]
        ratios = np.exp(np.clip(_on_actions(trained, masks) - _on_actions(sampled, masks), -50, 50))
        found |= {
            "off_policy/ratio_mean": float(ratios.mean()),
            "off_policy/ratio_max": float(ratios.max()),
            "off_policy/ratio_min": float(ratios.min()),
            "off_policy/ess": float(ratios.sum() ** 2 / (len(ratios) * (ratios**2).sum())),
            "off_policy/truncated": float((ratios > options.ratio_cap).mean()) if options.ratio_cap else 0.0,
        }
    return found


def _on_actions(logprobs: Sequence[Floats], masks: Sequence[Floats]) -> NDArray[np.float64]:
    chosen = [one[mask > 0] for one, mask in zip(logprobs, masks, strict=True)]
    return np.concatenate(chosen).astype(np.float64)

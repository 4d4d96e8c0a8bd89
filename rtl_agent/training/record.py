"""A step's rollouts as they are kept: each episode with what the teacher said of its tokens and what was learned.

All lists have a value for each sampled token: observations between them are nobody's action.
"""

from collections.abc import Callable, Sequence
from math import log
from typing import Any, TypeVar

import numpy as np

from rtl_agent.teachers import Advice, TopK
from rtl_agent.training.objective import Objective, array, token_advantages
from rtl_agent.training.rollouts import Group, Rollout

T = TypeVar("T")
DROPPED = "a group with an answer longer than tail_tokens, and stale_groups=drop"
LIKELIEST = 5  # of the teacher's tokens at a place
# Where the teacher would have written the very token and hardly another, there is nothing to look at: that is most
# places, and with these a rollout of 4,000 tokens had 250 kB more.
SURE = log(0.95)
LEAST = log(0.001)


def records(group: Group, step: int, objective: Objective | None = None) -> list[dict[str, Any]]:
    """`objective` of a group that is learned from."""
    found = []
    mean = float(np.mean(group.rewards)) if group.rollouts else 0.0
    for number, rollout in enumerate(group.rollouts):
        record = {**rollout.episode.to_json(), "step": step, "rollout": number}
        if group.age:
            record["age"] = group.age
        sampled = rollout.episode.sampled_logprobs
        if rollout.advice and sampled:
            teacher = teacher_logprobs(rollout)
            record["teacher_logprobs"] = teacher
            record["reverse_kl"] = [
                None if theirs is None else mine - theirs for mine, theirs in zip(sampled, teacher, strict=True)
            ]
            record |= _more_of_the_teacher(rollout, teacher)
        if objective is not None and sampled and objective.has_policy:
            record["advantages"] = _advantages(rollout, mean, objective)
        found.append(record)
    for why in (*group.lost, *((DROPPED,) if group.dropped else ())):
        problem = group.problem
        told = {"family": problem.family, "category": problem.category, "difficulty": problem.difficulty}
        found.append({"problem_id": problem.id, **told, "step": step, "lost": why})
    return found


def teacher_logprobs(rollout: Rollout) -> list[float | None]:
    """None: not scored."""
    return _of_sampled(rollout, lambda advice: advice.logprobs[1:])


def _more_of_the_teacher(rollout: Rollout, logprobs: Sequence[float | None]) -> dict[str, Any]:
    """Its likeliest tokens, where they were asked for; the chunk of each token, where it has other tokens."""
    found: dict[str, Any] = {}
    if any(advice.top for advice in rollout.advice):
        tops = _of_sampled(rollout, lambda advice: advice.top[1:] or (None,) * (len(advice.logprobs) - 1))
        found["teacher_top"] = [_likeliest(top, theirs) for top, theirs in zip(tops, logprobs, strict=True)]
    if any(advice.chunks for advice in rollout.advice):
        found["teacher_chunks"] = _chunks(rollout)
    return found


def _likeliest(top: TopK | None, logprob: float | None) -> list[tuple[int, float]] | None:
    if top is None or (logprob is not None and logprob > SURE):
        return None
    pairs = sorted(zip(top.tokens, top.logprobs, strict=True), key=lambda pair: -pair[1])[:LIKELIEST]
    return [(token, round(value, 3)) for token, value in pairs if value > LEAST] or None


def _chunks(rollout: Rollout) -> list[int]:
    """The place of the first sampled token of each token's chunk."""
    numbers: list[tuple[int, int]] = []
    for part, (datum, advice) in enumerate(zip(rollout.data, rollout.advice, strict=True)):
        chunks = advice.chunks[1:] or range(1, len(advice.logprobs))
        mask = array(datum, "mask")
        numbers += [(part, chunk) for chunk, action in zip(chunks, mask, strict=True) if action > 0]
    first: dict[tuple[int, int], int] = {}
    return [first.setdefault(number, place) for place, number in enumerate(numbers)]


def _advantages(rollout: Rollout, mean: float, objective: Objective) -> list[float] | float:
    """As the step was made with, in six digits; one number where all tokens have the same."""
    advice: tuple[Advice | None, ...] = rollout.advice or (None,) * len(rollout.data)
    found: list[float] = []
    for datum, one in zip(rollout.data, advice, strict=True):
        logprobs, mask = array(datum, "logprobs"), array(datum, "mask")
        values = token_advantages(rollout.reward, mean, logprobs, mask, one, objective)
        found += [float(f"{value:.6g}") for value in values[mask > 0]]
    return found[0] if found and len(set(found)) == 1 else found


def _of_sampled(rollout: Rollout, values: Callable[[Advice], Sequence[T]]) -> list[T]:
    found: list[T] = []
    for datum, advice in zip(rollout.data, rollout.advice, strict=True):
        mask = array(datum, "mask")
        found += [value for value, action in zip(values(advice), mask, strict=True) if action > 0]
    return found

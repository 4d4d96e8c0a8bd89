"""The objective: rewards and advice -> what is trained on.

    advantage(token) = reward_coef * (reward - mean reward of its group)
                     - kl_penalty_coef * (log p_student - log p_teacher)

and beside it soft targets: cross-entropy to the teacher's most likely tokens at the student's own positions, which
keeps the student from collapsing onto one way of writing. Left out of GRPO on purpose: division by the group's standard
deviation and by length, which weigh easy problems and short answers more. Supervised training has neither: its targets
are the reference solutions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tinker
from numpy.typing import NDArray

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.prompts import reference_reply
from rtl_agent.teachers import Advice, Alignment, TopK
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.rollouts import Group

Floats = NDArray[np.float32]
MAX_TOKEN_KL = 50.0  # nats, of one token: a teacher that rounds a probability to 0 says minus infinity


@dataclass(frozen=True)
class Objective:
    """How strongly each source of advice counts."""

    kl_penalty_coef: float = 0.0
    kl_discount_factor: float = 0.0
    forward_kl_coef: float = 0.0
    reward_coef: float = 1.0
    full_reward: float = 0.0  # if above 0, a rollout's advice counts by its share of it
    kl_credit: str = "covering"  # how a chunk's KL is given to the tokens in it
    prefix_trust: float = 0.0  # how much less advice counts after tokens that the teacher would not have written
    one_pass: bool = False  # advantages become weights of the sampled tokens among the soft targets
    weighs_ratios: bool = False  # or, where these tokens are of older weights, stand beside them with their logprobs

    @staticmethod
    def of(config: Config) -> "Objective":
        """In one pass as weights only where that is exact: while the trained weights are those that sampled."""
        given = config.objective
        if config.mode != "distill":
            return Objective(reward_coef=given.reward_coef)
        sampling = given.loss_fn == "importance_sampling"
        exact = sampling and config.optim.num_substeps == 1 and config.overlap.is_on_policy
        weighed = sampling and not config.overlap.is_on_policy
        return Objective(
            kl_penalty_coef=given.kl_penalty_coef,
            kl_discount_factor=given.kl_discount_factor,
            kl_credit=given.kl_credit,
            forward_kl_coef=given.forward_kl_coef,
            reward_coef=given.reward_coef,
            full_reward=config.grading.weights().total if given.reward_weighted else 0.0,
            prefix_trust=given.prefix_trust,
            one_pass=given.one_pass and (exact or weighed),
            weighs_ratios=given.one_pass and weighed,
        )

    @property
    def has_policy(self) -> bool:
        """Whether any advantage can differ from 0; a pass over zeros would cost as much as one that teaches."""
        return bool(self.reward_coef or self.kl_penalty_coef)

    def trust(self, reward: float) -> float:
        """How much the advice on a rollout of this reward counts."""
        return reward / self.full_reward if self.full_reward > 0 else 1.0


@dataclass(frozen=True)
class TrainingBatch:
    """What one group teaches. `policy` goes to the policy loss, `imitation` to cross_entropy.

    `sampled` and `mask` belong to the rollouts, datum for datum, and so to `policy` unless that is empty: logprobs at
    sampling time, and 1 on action tokens.
    """

    policy: tuple[tinker.Datum, ...]
    imitation: tuple[tinker.Datum, ...]
    sampled: tuple[Floats, ...]
    mask: tuple[Floats, ...]
    kl_sum: float = 0.0
    advised_tokens: float = 0.0
    merged: bool = False  # `policy` is in `imitation`: the first target of each position is the sampled token
    advised_bytes: int = 0  # of the text of the advised tokens; 0: not known
    end_kl: tuple[float, ...] = ()  # of tokens that end a turn, where the teacher reads other tokens
    alignment: Alignment | None = None


def training_batch(group: Group, objective: Objective) -> TrainingBatch:
    """Advantages are centred on the group's mean; a group of one is left with the teacher's part alone."""
    merged = objective.one_pass and objective.has_policy and objective.forward_kl_coef > 0 and has_soft_targets(group)
    mean = float(np.mean(group.rewards)) if group.rollouts else 0.0
    policy, imitation, sampled, masks = [], [], [], []
    kl_sum = advised = 0.0
    read, ends, alignment = 0, list[float](), Alignment()
    for rollout in group.rollouts:
        advice: tuple[Advice | None, ...] = rollout.advice or (None,) * len(rollout.data)
        trust = objective.trust(rollout.reward)
        for datum, one in zip(rollout.data, advice, strict=True):
            logprobs, mask = array(datum, "logprobs"), array(datum, "mask")
            advantages = token_advantages(rollout.reward, mean, logprobs, mask, one, objective)
            if one is not None:
                reverse_kl, scored = token_kl(logprobs, mask, one)
                weight = trust * prefix_weights(reverse_kl, objective.prefix_trust)
                kl_sum += float(reverse_kl.sum())
                advised += float(scored.sum())
                read += one.text_bytes
                ends += [float(reverse_kl[end - 1]) for end in one.ends]
                if one.alignment is not None:
                    alignment.add(one.alignment)
                if objective.forward_kl_coef > 0 and one.top:
                    soft = soft_targets(datum, one, mask, objective.forward_kl_coef * weight)
                    imitation.append(with_policy(soft, datum, advantages, objective.weighs_ratios) if merged else soft)
            if objective.has_policy and not merged:
                policy.append(policy_datum(datum, advantages))
            sampled.append(logprobs)
            masks.append(mask)
    return TrainingBatch(
        tuple(policy),
        tuple(imitation),
        tuple(sampled),
        tuple(masks),
        kl_sum,
        advised,
        merged,
        read,
        tuple(ends),
        alignment if alignment.content else None,
    )


def token_advantages(
    reward: float, mean: float, logprobs: Floats, mask: Floats, advice: Advice | None, objective: Objective
) -> Floats:
    """Of each token of a rollout with this reward, in a group with this mean; 0 where nothing was sampled."""
    advantages: Floats = objective.reward_coef * (reward - mean) * mask
    if advice is None:
        return advantages
    reverse_kl, scored = token_kl(logprobs, mask, advice)
    weight = objective.trust(reward) * prefix_weights(reverse_kl, objective.prefix_trust)
    penalty = kl_penalty(-objective.kl_penalty_coef * weight * reverse_kl, advice, objective)
    return advantages + penalty * scored


def token_kl(logprobs: Floats, mask: Floats, advice: Advice) -> tuple[Floats, Floats]:
    """log p_student - log p_teacher of each sampled token that the teacher scored, and 1 where it did."""
    scored = mask * np.asarray([one is not None for one in advice.logprobs[1:]], np.float32)
    theirs = np.asarray([0.0 if one is None else one for one in advice.logprobs[1:]], dtype=np.float32)
    # Not times the mask: where an observation's token is impossible to the teacher, inf * 0 is NaN.
    difference: Floats = np.where(scored > 0, np.clip(logprobs - theirs, -MAX_TOKEN_KL, MAX_TOKEN_KL), np.float32(0))
    return difference, scored


def kl_penalty(values: Floats, advice: Advice, objective: "Objective") -> Floats:
    """What each token bears: its own part, and of later ones what the discount leaves.

    A teacher that reads other tokens judges chunks of them. `covering` takes the parts into which it split a chunk's
    score, `share` equal ones; for `chunk` a chunk is one action, and each of its tokens bears all of it.
    """
    if not advice.chunks or objective.kl_credit == "covering":
        return discounted(values, objective.kl_discount_factor)
    _, first, chunk = np.unique(np.asarray(advice.chunks[1:]), return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.float32)
    np.add.at(sums, chunk, values)
    if objective.kl_credit == "share":
        counts = np.bincount(chunk).astype(np.float32)
        return discounted(np.asarray((sums / counts)[chunk], np.float32), objective.kl_discount_factor)
    whole: Floats = discounted(sums, objective.kl_discount_factor)[chunk]
    return whole


def has_soft_targets(group: Group) -> bool:
    return all(advice.top for rollout in group.rollouts for advice in rollout.advice) and group.advised


def with_policy(
    soft: tinker.Datum, datum: tinker.Datum, advantages: Floats, weighs_ratios: bool = False
) -> tinker.Datum:
    """The sampled token as one more target, weighted by its advantage.

    That is the gradient of importance sampling while the trained weights are those that sampled: the ratio is 1. A pass
    over the same tokens with another loss would cost as much again. Where the ratio is not 1, only the server knows it:
    it is given the advantages and the logprobs at sampling, which our own server takes beside the weights.
    """
    tokens = np.asarray(datum.loss_fn_inputs["target_tokens"].to_numpy(), np.int64)[:, None]
    others = np.asarray(soft.loss_fn_inputs["target_tokens"].to_numpy(), np.int64)
    weights = np.asarray(soft.loss_fn_inputs["weights"].to_numpy(), np.float32)
    first = np.zeros_like(advantages) if weighs_ratios else advantages
    inputs = {
        "target_tokens": tinker.TensorData.from_numpy(np.concatenate([tokens, others], axis=1)),
        "weights": tinker.TensorData.from_numpy(np.concatenate([first.astype(np.float32)[:, None], weights], axis=1)),
    }
    if weighs_ratios:
        inputs["logprobs"] = datum.loss_fn_inputs["logprobs"]
        inputs["advantages"] = tinker.TensorData.from_numpy(advantages.astype(np.float32))
    return tinker.Datum(model_input=datum.model_input, loss_fn_inputs=inputs)


def policy_datum(datum: tinker.Datum, advantages: Floats) -> tinker.Datum:
    """Without the mask: a policy loss has no such input, and advantages are 0 where it is."""
    inputs = datum.loss_fn_inputs
    return tinker.Datum(
        model_input=datum.model_input,
        loss_fn_inputs={
            "target_tokens": inputs["target_tokens"],
            "logprobs": inputs["logprobs"],
            "advantages": tinker.TensorData.from_numpy(advantages.astype(np.float32)),
        },
    )


def prefix_weights(reverse_kl: Floats, trust: float) -> Floats:
    """How much the advice on each token counts: by how likely the teacher would have come there itself.

    After a wrong name the teacher goes on with the right one, and a student that follows contradicts itself: advice is
    best where the text so far is the teacher's own. The weight is the product of min(1, p_teacher / p_student) over the
    tokens before, to the power of `trust`; 0 is no difference, 1 all of it.
    """
    unlike = np.minimum(0.0, -reverse_kl)
    before = np.concatenate([np.zeros(1, np.float32), np.cumsum(unlike)[:-1]])
    weights: Floats = np.exp(trust * before).astype(np.float32)
    return weights


def soft_targets(datum: tinker.Datum, advice: Advice, mask: Floats, weight: Floats) -> tinker.Datum:
    """The teacher's likeliest tokens at every action position, by their share and the position's weight."""
    width = max((len(top.tokens) for top in advice.top if top is not None), default=1)
    tokens = np.zeros((len(mask), width), dtype=np.int64)
    weights = np.zeros((len(mask), width), dtype=np.float32)
    for position, top in action_positions(advice, mask):
        tokens[position, : len(top.tokens)] = top.tokens
        weights[position, : len(top.tokens)] = top.shares()
    return tinker.Datum(
        model_input=datum.model_input,
        loss_fn_inputs={
            "target_tokens": tinker.TensorData.from_numpy(tokens),
            "weights": tinker.TensorData.from_numpy(weights * weight[:, None].astype(np.float32)),
        },
    )


def action_positions(advice: Advice, mask: Floats) -> Iterator[tuple[int, TopK]]:
    """Row of the targets, and the advice on the token there. Targets are shifted: row 0 is the second token."""
    for position, top in enumerate(advice.top[1:]):
        if top is not None and mask[position] > 0:
            yield position, top


def discounted(values: Floats, factor: float) -> Floats:
    """Each value plus what comes after it, worth less with every token."""
    if factor <= 0:
        return values
    out, later = np.empty_like(values), np.float32(0)
    for position in range(len(values) - 1, -1, -1):
        later = values[position] + np.float32(factor) * later
        out[position] = later
    return out


def array(datum: tinker.Datum, name: str) -> Floats:
    return np.asarray(datum.loss_fn_inputs[name].to_numpy(), dtype=np.float32)


def reference_batch(builders: Sequence[ProblemGroupBuilder]) -> TrainingBatch:
    """Cross-entropy on the answers' tokens and on those that end the turn."""
    return TrainingBatch((), tuple(map(_reference_datum, builders)), (), ())


def _reference_datum(builder: ProblemGroupBuilder) -> tinker.Datum:
    renderer = builder.renderer
    asked, reference = builder.prompt().tokens, reference_reply(builder.problem)
    if not reference:
        raise BadConfig(
            f"{builder.problem.id} has no reference solution to learn from: choose other problems, or another mode"
        )
    said = renderer.tokenizer.encode(reference, add_special_tokens=False)
    tokens = [*asked, *said, _end_of_turn(renderer.get_stop_sequences())]
    weights = np.zeros(len(tokens) - 1, np.float32)
    weights[len(asked) - 1 :] = 1.0
    return tinker.Datum(
        model_input=tinker.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={
            "target_tokens": tinker.TensorData.from_numpy(np.asarray(tokens[1:], np.int64)),
            "weights": tinker.TensorData.from_numpy(weights),
        },
    )


def _end_of_turn(stops: list[str] | list[int]) -> int:
    if not stops or not isinstance(stops[0], int):
        raise BadConfig("supervised training needs a renderer that ends a turn with a single token")
    return stops[0]

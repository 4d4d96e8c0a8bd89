"""What the loss of stale tokens does: importance sampling by single tokens, its ratios truncated."""

import numpy as np
import pytest
import torch

from rtl_agent.backends.engine.losses import complete, find_loss
from rtl_agent.problems import load_problems
from rtl_agent.training.config import Config, LossFn, ObjectiveConfig, OptimConfig
from rtl_agent.training.metrics import off_policy_metrics
from rtl_agent.training.objective import Objective, TrainingBatch
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.rollouts import Group
from rtl_agent.training.student import PolicyLoss

AHEAD = OverlapConfig(max_steps_off_policy=1)
SAMPLED = [-1.0, -1.0, -4.0, -1.0]  # log p when they were sampled
NOW = [-1.0, -1.5, -1.0, -0.2]  # and now: ratios 1, 0.61, 20.1, 2.23
ADVANTAGES = [1.0, -2.0, 1.0, -1.0]


def gradient(loss: PolicyLoss) -> list[float]:
    """Of the loss with respect to each token's logprob, as our own server computes it."""
    chosen = find_loss(loss.name)
    logprobs = torch.tensor(NOW)[:, None].requires_grad_()
    arrays = {"logprobs": torch.tensor(SAMPLED)[:, None], "advantages": torch.tensor(ADVANTAGES)[:, None]}
    found = chosen.compute(logprobs, arrays, complete(loss.name, chosen, loss.settings or {})).sum()
    found.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
    assert logprobs.grad is not None
    return [float(one) for one in logprobs.grad[:, 0]]


def test_its_gradient_is_that_of_importance_sampling_up_to_the_cap() -> None:
    exact = gradient(PolicyLoss("importance_sampling"))
    ratios = np.exp(np.array(NOW) - np.array(SAMPLED))
    assert exact == pytest.approx(list(-ratios * ADVANTAGES), rel=1e-5)
    capped = gradient(PolicyLoss.of(Config(mode="rl", overlap=AHEAD)))
    assert capped == pytest.approx(list(-np.minimum(ratios, 2.0) * ADVANTAGES), rel=1e-5)
    assert capped[:2] == pytest.approx(exact[:2], rel=1e-6)


def test_ppo_would_take_the_gradient_of_such_a_token_away() -> None:
    assert gradient(PolicyLoss("ppo"))[2] == 0.0


@pytest.mark.parametrize(
    ("overlap", "loss_fn", "name", "settings"),
    [
        (OverlapConfig(), "importance_sampling", "importance_sampling", None),
        (AHEAD, "importance_sampling", "cispo", {"clip_low_threshold": 0.0, "clip_high_threshold": 2.0}),
        (OverlapConfig(tail_tokens=64), "importance_sampling", "cispo",
         {"clip_low_threshold": 0.0, "clip_high_threshold": 2.0}),
        (OverlapConfig(max_steps_off_policy=2, ratio_cap=0), "importance_sampling", "importance_sampling", None),
        (AHEAD, "ppo", "ppo", None),
        (AHEAD, "dro", "dro", None),
    ],
)  # fmt: skip
def test_which_loss_is_asked_for(
    overlap: OverlapConfig, loss_fn: LossFn, name: str, settings: dict[str, float] | None
) -> None:
    config = Config(mode="rl", overlap=overlap, objective=ObjectiveConfig(loss_fn=loss_fn))
    assert PolicyLoss.of(config) == PolicyLoss(name, settings)  # type: ignore[arg-type]  # the names above are known


def test_advantages_are_no_weights_of_cross_entropy_where_ratios_are_not_one() -> None:
    def one_pass(overlap: OverlapConfig, substeps: int = 1) -> bool:
        return Objective.of(
            Config(objective=ObjectiveConfig(one_pass=True), overlap=overlap, optim=OptimConfig(num_substeps=substeps))
        ).one_pass

    assert one_pass(OverlapConfig())
    assert not one_pass(AHEAD)
    assert not one_pass(OverlapConfig(tail_tokens=64))


def test_age_and_ratios_are_measured() -> None:
    problem = load_problems("bundled")[0]
    mask = np.array([0, 1, 1, 1, 1], np.float32)
    batch = TrainingBatch((), (), (np.array([0.0, *SAMPLED], np.float32),), (mask,))
    rollouts = (None,)  # one that counts
    groups = [Group(problem, rollouts, age=2), Group(problem, rollouts, age=1), Group(problem, (), dropped=True)]  # type: ignore[arg-type]  # fmt: skip
    found = off_policy_metrics(groups, [batch], [np.array([0.0, *NOW], np.float32)], AHEAD)
    assert found["off_policy/age_mean"] == 1.5
    assert found["off_policy/age_max"] == 2
    assert found["off_policy/late_groups"] == 1
    assert found["off_policy/dropped_groups"] == 1
    assert found["off_policy/ratio_max"] == pytest.approx(np.exp(3.0), rel=1e-5)
    assert found["off_policy/truncated"] == 0.5
    assert 0.25 < found["off_policy/ess"] < 0.5
    assert off_policy_metrics(groups, [batch], [], OverlapConfig()) == {}

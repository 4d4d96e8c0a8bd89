"""What the loss of stale tokens does: importance sampling by single tokens, its ratios truncated."""

import numpy as np
import pytest
import tinker
import torch

from rtl_agent.backends.engine.losses import complete, find_loss
from rtl_agent.problems import load_problems
from rtl_agent.training.config import Config, LossFn, ObjectiveConfig, OptimConfig
from rtl_agent.training.errors import TrainingError
from rtl_agent.training.metrics import off_policy_metrics
from rtl_agent.training.objective import Objective, TrainingBatch
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.rollouts import Group
from rtl_agent.training.student import PolicyLoss, ensure_weighed

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
    def passes(overlap: OverlapConfig, substeps: int = 1, loss_fn: LossFn = "importance_sampling") -> tuple[bool, bool]:
        wanted = ObjectiveConfig(one_pass=True, loss_fn=loss_fn)
        found = Objective.of(Config(objective=wanted, overlap=overlap, optim=OptimConfig(num_substeps=substeps)))
        return found.one_pass, found.weighs_ratios

    assert passes(OverlapConfig()) == (True, False)
    assert passes(OverlapConfig(), substeps=2) == (False, False)
    assert passes(AHEAD) == passes(AHEAD, substeps=2) == passes(OverlapConfig(tail_tokens=64)) == (True, True)
    assert passes(AHEAD, loss_fn="ppo") == (False, False)


SOFT = [[-1.0, -2.0], [-1.5, -0.3], [-1.0, -3.0], [-0.2, -2.5]]  # log p of two targets, the sampled token first
WEIGHTS = [[0.0, 0.7], [0.0, 0.0], [0.0, 1.0], [0.0, 0.2]]


def one_pass(cap: float) -> tuple[float, list[list[float]]]:
    """Loss and gradient of soft targets with the policy beside them."""
    chosen = find_loss("cross_entropy")
    logprobs = torch.tensor(SOFT).requires_grad_()
    arrays = {
        "weights": torch.tensor(WEIGHTS),
        "logprobs": torch.tensor(SAMPLED)[:, None],
        "advantages": torch.tensor(ADVANTAGES)[:, None],
    }
    assert chosen.live(arrays).all(), "a token without soft targets is live by its advantage"
    found = chosen.compute(logprobs, arrays, complete("cross_entropy", chosen, {"clip_high_threshold": cap})).sum()
    found.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
    assert logprobs.grad is not None
    return float(found.detach()), logprobs.grad.tolist()


def test_one_pass_over_both_terms_has_the_gradient_of_two() -> None:
    _, found = one_pass(2.0)
    policy = gradient(PolicyLoss("cispo", {"clip_low_threshold": 0.0, "clip_high_threshold": 2.0}))
    assert [row[0] for row in found] == pytest.approx(policy, rel=1e-6)
    assert [row[1] for row in found] == pytest.approx([-row[1] for row in WEIGHTS], rel=1e-6)


def answer(loss: float) -> tuple[tinker.ForwardBackwardOutput, list[tinker.Datum]]:
    """A server's answer to such a pass."""
    tensor = tinker.TensorData.from_numpy
    inputs = {
        "target_tokens": tensor(np.zeros((4, 2), np.int64)),
        "weights": tensor(np.array(WEIGHTS, np.float32)),
        "logprobs": tensor(np.array(SAMPLED, np.float32)),
        "advantages": tensor(np.array(ADVANTAGES, np.float32)),
    }
    output = tinker.ForwardBackwardOutput(
        loss_fn_output_type="ArrayRecord",
        loss_fn_outputs=[{"logprobs": tensor(np.array(SOFT, np.float32))}],
        metrics={"loss:sum": loss},
    )
    return output, [tinker.Datum(model_input=tinker.ModelInput.from_ints([1, 2, 3, 4]), loss_fn_inputs=inputs)]


def test_a_server_that_passes_over_the_advantages_is_found_out() -> None:
    loss, _ = one_pass(2.0)
    ensure_weighed(*answer(loss), 2.0)
    without = -sum(p * w for row, weights in zip(SOFT, WEIGHTS, strict=True) for p, w in zip(row, weights, strict=True))
    with pytest.raises(TrainingError, match="one_pass=false"):
        ensure_weighed(*answer(without), 2.0)


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

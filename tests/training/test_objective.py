"""Rewards and advice become advantages and soft targets, token for token."""

import numpy as np
import pytest
import tinker
from tinker_cookbook.completers import TokensWithLogprobs
from tinker_cookbook.rl.data_processing import trajectory_to_data
from tinker_cookbook.rl.types import Trajectory, Transition

from rtl_agent.problems import Problem, load_problems
from rtl_agent.runs.episode import Episode
from rtl_agent.teachers import Advice, TopK
from rtl_agent.training.metrics import policy_metrics
from rtl_agent.training.objective import Objective, array, discounted, prefix_weights, training_batch
from rtl_agent.training.rollouts import Group, Rollout

PROMPT = [5, 6, 7]
ANSWER = [8, 9]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problems("bundled")[0]


def rollout(problem: Problem, reward: float, logprobs: tuple[float, ...], advice: Advice | None = None) -> Rollout:
    action = TokensWithLogprobs(ANSWER[: len(logprobs)], list(logprobs))
    observation = tinker.ModelInput.from_ints(PROMPT)
    trajectory = Trajectory([Transition(observation, action, reward, True)], tinker.ModelInput.empty())
    episode = Episode(problem.id, problem.family, (), tuple(PROMPT), tuple(action.tokens), "", "stop", None, reward)
    data = tuple(trajectory_to_data(trajectory, 0.0))
    return Rollout(episode.with_logprobs(logprobs), trajectory, data, (advice,) if advice else ())


def test_rewards_are_centred_on_their_group_and_land_on_action_tokens(problem: Problem) -> None:
    group = Group(problem, (rollout(problem, 1.4, (-1.0, -2.0)), rollout(problem, 0.4, (-1.0, -2.0))))
    batch = training_batch(group, Objective())
    assert [array(datum, "advantages").tolist() for datum in batch.policy] == [
        pytest.approx([0.0, 0.0, 0.5, 0.5]),
        pytest.approx([0.0, 0.0, -0.5, -0.5]),
    ]
    assert batch.imitation == ()


def test_equal_rewards_teach_nothing(problem: Problem) -> None:
    group = Group(problem, (rollout(problem, 0.4, (-1.0,)), rollout(problem, 0.4, (-3.0,))))
    assert not group.differs
    assert all(not array(datum, "advantages").any() for datum in training_batch(group, Objective()).policy)


def test_a_teacher_that_finds_a_token_likelier_raises_its_advantage(problem: Problem) -> None:
    advice = Advice((0.0, -9.0, -9.0, -0.5, -4.0))
    batch = training_batch(
        Group(problem, (rollout(problem, 1.0, (-1.0, -2.0), advice),)), Objective(kl_penalty_coef=0.5)
    )
    # -0.5 * (log p_student - log p_teacher); the reward of a group of one is its own mean
    assert array(batch.policy[0], "advantages").tolist() == pytest.approx([0.0, 0.0, 0.25, -1.0])
    assert batch.kl_sum / batch.advised_tokens == pytest.approx(((-1 + 0.5) + (-2 + 4)) / 2)


def test_of_several_turns_only_sampled_tokens_bear_advice_and_reward(problem: Problem) -> None:
    """Prompt 5 6, said 7 8, shown 9 9 9, said 10: the cookbook makes one datum of it."""
    first = Transition(tinker.ModelInput.from_ints([5, 6]), TokensWithLogprobs([7, 8], [-1.0, -1.0]), 0.0, False)
    second = Transition(tinker.ModelInput.from_ints([5, 6, 7, 8, 9, 9, 9]), TokensWithLogprobs([10], [-3.0]), 1.0, True)
    trajectory = Trajectory([first, second], tinker.ModelInput.empty())
    (datum,) = trajectory_to_data(trajectory, 0.0)
    episode = Episode(problem.id, problem.family, (), (5, 6), (7, 8, 10), "", "stop", None, 1.0)
    advice = Advice((0.0, -8.0, -2.0, -4.0, -8.0, -8.0, -8.0, -1.0))
    group = Group(problem, (Rollout(episode, trajectory, (datum,), (advice,)),))
    batch = training_batch(group, Objective(kl_penalty_coef=1.0))
    assert array(batch.policy[0], "advantages").tolist() == pytest.approx([0.0, -1.0, -3.0, 0.0, 0.0, 0.0, 2.0])
    assert (batch.kl_sum, batch.advised_tokens) == (pytest.approx(1.0 + 3.0 - 2.0), 3.0)


def test_what_a_teacher_finds_impossible_in_an_observation_does_not_matter(problem: Problem) -> None:
    advice = Advice((0.0, float("-inf"), -9.0, -0.5, -4.0))
    batch = training_batch(
        Group(problem, (rollout(problem, 1.0, (-1.0, -2.0), advice),)),
        Objective(kl_penalty_coef=0.5, kl_discount_factor=0.5),
    )
    assert array(batch.policy[0], "advantages").tolist() == pytest.approx([0.0, 0.0, 0.25 - 0.5, -1.0])
    assert batch.kl_sum == pytest.approx((-1 + 0.5) + (-2 + 4))


def test_a_discount_lets_earlier_tokens_bear_later_ones() -> None:
    assert discounted(np.array([1, 2, 4], np.float32), 0.5).tolist() == pytest.approx([3.0, 4.0, 4.0])
    assert discounted(np.array([1, 2, 4], np.float32), 0.0).tolist() == [1, 2, 4]


def test_the_teachers_likeliest_tokens_become_soft_targets_at_action_positions(problem: Problem) -> None:
    of_prompt = TopK((1, 2), (-1.0, -1.0))
    tops = (None, of_prompt, of_prompt, TopK((8, 3), (-0.1, -0.1)), TopK((9,), (-1.0,)))
    advice = Advice((0.0,) * 5, tops)
    objective = Objective(forward_kl_coef=0.5)
    datum = training_batch(Group(problem, (rollout(problem, 1.0, (-1.0, -2.0), advice),)), objective).imitation[0]
    assert datum.loss_fn_inputs["target_tokens"].to_numpy().tolist()[2:] == [[8, 3], [9, 0]]
    weights = datum.loss_fn_inputs["weights"].to_numpy()
    assert weights[:2].tolist() == [[0, 0], [0, 0]]  # the prompt is not imitated
    assert weights[2].tolist() == pytest.approx([0.25, 0.25])
    assert weights[3].tolist() == pytest.approx([0.5, 0.0])  # shares of what is known, times the coefficient


def test_a_reward_that_does_not_count_leaves_the_teachers_part(problem: Problem) -> None:
    advice = Advice((0.0, -9.0, -9.0, -0.5, -4.0))
    two = (rollout(problem, 1.4, (-1.0, -2.0), advice), rollout(problem, 0.4, (-1.0, -2.0), advice))
    batch = training_batch(Group(problem, two), Objective(kl_penalty_coef=1.0, reward_coef=0.0))
    assert [array(datum, "advantages").tolist() for datum in batch.policy] == [pytest.approx([0, 0, 0.5, -2.0])] * 2


def test_without_reward_and_reverse_kl_there_is_no_pass_over_zeros(problem: Problem) -> None:
    advice = Advice((0.0,) * 5, (None, None, None, TopK((8,), (-0.1,)), TopK((9,), (-1.0,))))
    group = Group(problem, (rollout(problem, 1.0, (-1.0, -2.0), advice),))
    batch = training_batch(group, Objective(forward_kl_coef=1.0, reward_coef=0.0))
    assert batch.policy == ()
    assert len(batch.imitation) == 1
    assert policy_metrics([batch], []) == {"optim/entropy": pytest.approx(1.5)}


def test_advice_can_count_by_the_share_of_the_full_reward(problem: Problem) -> None:
    advice = Advice((0.0, -9.0, -9.0, -0.5, -4.0), (None, None, None, TopK((8,), (-0.1,)), TopK((9,), (-1.0,))))
    two = (rollout(problem, 1.4, (-1.0, -2.0), advice), rollout(problem, 0.7, (-1.0, -2.0), advice))
    objective = Objective(kl_penalty_coef=1.0, forward_kl_coef=1.0, reward_coef=0.0, full_reward=1.4)
    batch = training_batch(Group(problem, two), objective)
    assert [array(datum, "advantages").tolist() for datum in batch.policy] == [
        pytest.approx([0, 0, 0.5, -2.0]),
        pytest.approx([0, 0, 0.25, -1.0]),
    ]
    assert [array(datum, "weights").sum() for datum in batch.imitation] == [pytest.approx(2.0), pytest.approx(1.0)]


def test_in_one_pass_the_sampled_token_is_a_target_weighted_by_its_advantage(problem: Problem) -> None:
    advice = Advice((0.0, -9.0, -9.0, -0.5, -4.0), (None, None, None, TopK((8,), (-0.1,)), TopK((9, 3), (-1.0, -1.0))))
    group = Group(problem, (rollout(problem, 1.0, (-1.0, -2.0), advice),))
    batch = training_batch(group, Objective(kl_penalty_coef=1.0, forward_kl_coef=0.5, one_pass=True))
    assert batch.merged
    assert batch.policy == ()
    (datum,) = batch.imitation
    assert datum.loss_fn_inputs["target_tokens"].to_numpy().tolist()[2:] == [[8, 8, 0], [9, 9, 3]]
    assert array(datum, "weights").tolist() == [
        pytest.approx(row) for row in ([0, 0, 0], [0, 0, 0], [0.5, 0.5, 0], [-2.0, 0.25, 0.25])
    ]


def test_without_soft_targets_there_are_two_passes_as_ever(problem: Problem) -> None:
    group = Group(problem, (rollout(problem, 1.0, (-1.0,), Advice((0.0,) * 4)),))
    batch = training_batch(group, Objective(kl_penalty_coef=1.0, forward_kl_coef=0.5, one_pass=True))
    assert not batch.merged
    assert len(batch.policy) == 1


def test_advice_after_a_token_that_the_teacher_would_not_write_can_count_less(problem: Problem) -> None:
    advice = Advice((0.0, 0.0, 0.0, -3.0, -4.0), (None, None, None, TopK((7,), (-0.1,)), TopK((9,), (-1.0,))))
    group = Group(problem, (rollout(problem, 1.0, (-1.0, -2.0), advice),))
    batch = training_batch(group, Objective(kl_penalty_coef=1.0, forward_kl_coef=1.0, prefix_trust=1.0))
    share = np.exp(-2.0)  # the first token: -1 by the student, -3 by the teacher
    assert array(batch.policy[0], "advantages").tolist() == pytest.approx([0, 0, -2.0, -2.0 * share])
    assert array(batch.imitation[0], "weights")[2:, 0].tolist() == pytest.approx([1.0, share])


def test_a_token_that_the_teacher_likes_better_does_not_make_later_advice_count_more() -> None:
    assert prefix_weights(np.array([-5.0, 0.0, 0.0], np.float32), 1.0).tolist() == [1, 1, 1]
    assert prefix_weights(np.array([9.0, 1.0, 0.0], np.float32), 0.0).tolist() == [1, 1, 1]

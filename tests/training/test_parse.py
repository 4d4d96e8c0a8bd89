"""Command-line words become a config, or a sentence that says which word is wrong."""

import pytest

from rtl_agent.grading import RewardWeights
from rtl_agent.training.config import Distill
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import parse, warnings


def test_words_go_over_the_preset() -> None:
    config = parse("distill", ["preset=recommended", "max_steps=7"])
    assert (config.max_steps, config.group_size, config.reward) == (7, 4, "graded")


def test_the_embedded_preset_is_the_default_unless_the_run_is_elsewhere() -> None:
    assert parse("rl", []).lora_rank == 0
    assert parse("rl", ["backend=tinker"]).lora_rank == 32


def test_the_seed_experiments_are_as_they_were_run() -> None:
    config = parse("distill", ["preset=seed-exp-2"])
    assert isinstance(config, Distill)
    assert (config.student, config.teacher) == (
        "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "Qwen/Qwen3-235B-A22B-Instruct-2507",
    )
    assert (config.batch_size, config.group_size, config.max_steps, config.max_tokens) == (1, 1, 1, 4096)
    assert (config.kl_penalty_coef, config.lora_rank, config.learning_rate) == (1.0, 32, 1e-4)
    assert config.weights() == RewardWeights(format=0.1, interface=0.0, syntax=0.3, tests=1.0)


def test_single_weights_replace_those_of_the_preset() -> None:
    weights = parse("rl", ["reward=graded", "test_coef=0", "format_coef=0.3"]).weights()
    assert weights == RewardWeights(format=0.3, interface=0.2, syntax=0.3, tests=0.0, partial=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "nonsense"),
        (["batch_sise=3"], "batch_sise"),
        (["batch_size=many"], "batch_size"),
        (["batch_size=0"], "1 or more"),
        (["preset=best"], "choose from"),
        (["reward=big"], "choose from"),
        (["loss_fn=mse"], "loss_fn"),
        (["learning_rate=-1"], "more than 0"),
        (["test_coef=-1"], "0 or more"),
        (["num_substeps=9", "batch_size=2"], "num_substeps"),
        (["teacher_model=x"], "teacher_model"),
        (["system=polite"], "choose from default"),
        (["env=agentic", "level=open"], "every reward is 0"),
    ],
)
def test_a_bad_word_is_named(words: list[str], said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        parse("rl", words)


def test_a_group_of_one_and_options_without_effect_are_warned_of() -> None:
    said = " ".join(warnings(parse("rl", ["group_size=1", "oss_sim_image=sim:1", "workspace_dir=w", "compile_coef=1"])))
    for word in ("group_size=1", "oss_sim_image", "workspace_dir", "compile_coef"):
        assert word in said
    assert not warnings(parse("rl", []))

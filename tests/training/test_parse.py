"""Command-line words become a config, or a sentence that says which word is wrong."""

from dataclasses import replace

import pytest

from rtl_agent.grading import REWARD_TERMS, RewardWeights
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import parse
from rtl_agent.training.plan import warnings


def test_words_go_over_the_preset() -> None:
    config = parse("distill", ["preset=recommended", "max_steps=7"])
    assert (config.optim.max_steps, config.optim.group_size, config.grading.reward) == (7, 4, "graded")


@pytest.mark.parametrize("backend", ["embedded", "tinker", "http://127.0.0.1:8000"])
def test_the_preset_is_chosen_by_the_student_and_never_by_the_backend(backend: str) -> None:
    small = parse("distill", [f"backend={backend}"])
    assert (small.model.lora_rank, small.data.source, small.objective.one_pass) == (0, "generated", True)
    large = parse("rl", [f"backend={backend}", "model_name=Qwen/Qwen3-8B"])
    assert (large.model.lora_rank, large.data.source) == (32, "bundled")
    assert replace(small, model=replace(small.model, backend="embedded")) == parse("distill", [])


def test_a_former_name_of_a_preset_is_understood() -> None:
    assert parse("rl", ["preset=embedded"]) == parse("rl", ["preset=small"])


def test_the_seed_experiments_are_as_they_were_run() -> None:
    config = parse("distill", ["preset=seed-exp-2"])
    assert (config.student, config.teacher) == (
        "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "Qwen/Qwen3-235B-A22B-Instruct-2507",
    )
    optim = config.optim
    assert (optim.batch_size, optim.group_size, optim.max_steps, config.episode.max_tokens) == (1, 1, 1, 4096)
    assert (config.objective.kl_penalty_coef, config.model.lora_rank, optim.learning_rate) == (1.0, 32, 1e-4)
    assert config.grading.weights() == RewardWeights(format=0.1, interface=0.0, syntax=0.3, tests=1.0)


def test_reward_terms_go_over_a_preset() -> None:
    @REWARD_TERMS.register("silence")
    def silence(submission: object) -> float:
        return 1.0

    try:
        weights = parse("rl", ["reward=staged,silence=-0.5", "test_coef=2"]).grading.weights()
        assert (weights.terms, weights.tests, weights.format) == ((("silence", -0.5),), 2.0, 0.1)
        with pytest.raises(BadConfig, match="did you mean silence"):
            parse("rl", ["reward=staged,silense=-0.5"])
    finally:
        REWARD_TERMS.unregister("silence")


def test_single_weights_replace_those_of_the_preset() -> None:
    weights = parse("rl", ["reward=graded", "test_coef=0", "format_coef=0.3"]).grading.weights()
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


@pytest.mark.parametrize(("name", "said"), [("compile_coef", "use syntax_coef"), ("workspace_dir", "leave it out")])
def test_an_option_that_was_removed_says_what_to_do(name: str, said: str) -> None:
    with pytest.raises(BadConfig, match=f"{name} was removed: .*{said}"):
        parse("rl", [f"{name}=1"])


def test_a_group_of_one_and_options_without_effect_are_warned_of() -> None:
    said = " ".join(warnings(parse("rl", ["group_size=1", "oss_sim_image=sim:1"])))
    for word in ("group_size=1", "oss_sim_image"):
        assert word in said
    assert not warnings(parse("rl", []))

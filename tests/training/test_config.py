"""Options in groups: every flat name works, bounds belong to the field, and a run knows where each value came from."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.options import BadOption, NamedOption
from rtl_agent.runs import RunError, RunWriter
from rtl_agent.training.config import (
    FIXED,
    MODES,
    OPTIONS,
    Config,
    Mode,
    ModelConfig,
    OptimConfig,
    options_for,
    to_json,
)
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import EARLIER_START, choose, choose_new, choose_resumed, configure, from_json, parse
from rtl_agent.training.plan import help_text, plan, presets_text
from rtl_agent.training.presets import PRESETS

# Every option that 0.1 had, but for the two that were removed.
NAMES = """
    backend log_path behavior_if_log_dir_exists cvdp_jsonl_path problems generated_problems emphasis limit system
    heldout_fraction split_seed heldout renderer_name load_checkpoint_path lora_rank max_tokens max_prompt_tokens
    temperature env level extra_tools max_turns tries rounds refine_reward episode_tokens episode_seconds
    command_seconds batch_size group_size learning_rate lr_schedule warmup_steps grad_clip_norm loss_fn one_pass
    num_substeps groups_without_signal compute_post_kl max_steps epochs seed reward format_coef interface_coef
    syntax_coef test_coef reward_coef extraction timeout_seconds grading_jobs oss_sim_image eval_every eval_problems
    eval_samples eval_temperature exam_problems exam_seed exam_of exam_samples save_every wandb_project trackio_project
    student_model teacher_model eval_teacher kl_penalty_coef kl_discount_factor forward_kl_coef forward_kl_topk
    prefix_trust reward_weighted model_name
"""
OLD_CONFIG = {  # as 0.1 wrote it, shortened
    "mode": "rl",
    "student": "rtl-agent/student",
    "teacher": "",
    "model_name": "rtl-agent/student",
    "backend": "embedded",
    "cvdp_jsonl_path": "generated",
    "system": "short",
    "level": "own-tests",
    "lora_rank": 0,
    "max_tokens": 256,
    "timeout_seconds": 60.0,
    "max_steps": 20,
    "format_coef": None,
    "compile_coef": 0.0,
    "workspace_dir": "",
    "log_path": "elsewhere",
}


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    run = tmp_path / "old"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(OLD_CONFIG))
    (run / "metrics.jsonl").write_text("")
    return run


def test_every_flat_name_is_an_option_still() -> None:
    known = {name for one in OPTIONS for name in one.names}
    assert known >= set(NAMES.split())


@pytest.mark.parametrize("known", OPTIONS, ids=lambda known: known.path)
def test_an_option_has_one_meaning_under_all_its_names(known: NamedOption) -> None:
    values = {"student": "Qwen/Qwen3-8B", "backend": "tinker", "mode": "rl", "system": "short", "reward": "binary"}
    values |= {"level": "spec", "emphasis": "alu*2", "exam_of": "after", "refine_reward": "best", "env": "refine"}
    values |= {"extraction": "cvdp", "loss_fn": "ppo", "groups_without_signal": "drop", "lr_schedule": "cosine"}
    values |= {
        "behavior_if_log_dir_exists": "raise",
        "teacher_backend": "tinker",
        "teacher_for": "fifo*:teacher",
        "executor": "ray",
    }
    wanted = values.get(known.flat)
    if wanted is None and known.option.choices:
        wanted = known.option.choices[-1]
    if wanted is None:
        wanted = {bool: "true", int: "7", float: "0.7", str: "x"}.get(known.type, "0.7")
    made = [parse("distill", ["preset=none", f"{name}={wanted}"]) for name in known.names]
    assert all(one == made[0] for one in made)
    assert made[0] != parse("distill", ["preset=none"]) or known.default == known.of(made[0])


def test_bounds_hold_in_python_as_on_the_command_line() -> None:
    with pytest.raises(BadOption, match="batch_size=0: it must be 1 or more"):
        Config(optim=OptimConfig(batch_size=0))
    with pytest.raises(BadConfig, match="batch_size=0: it must be 1 or more"):
        parse("rl", ["optim.batch_size=0"])
    with pytest.raises(BadConfig, match="kl_penalty_coef=nan: it must be a finite number"):
        parse("distill", ["kl_penalty_coef=nan"])


def test_python_and_the_command_line_make_the_same_configuration() -> None:
    by_hand = Config(mode="rl", model=ModelConfig(student="Qwen/Qwen3-8B", backend="tinker"))
    assert by_hand == parse("rl", ["model_name=Qwen/Qwen3-8B", "model.backend=tinker"])


def test_flat_names_work_in_python_too() -> None:
    made = configure("distill", preset="demo", max_steps=4, test_coef=None, kl_penalty_coef=1)
    assert made == parse("distill", ["preset=demo", "max_steps=4", "kl_penalty_coef=1"])
    assert configure("rl", model_name="Qwen/Qwen3-8B") == parse("rl", ["model_name=Qwen/Qwen3-8B"])
    with pytest.raises(BadConfig, match="max_steps='4' is not a value of that option"):
        configure("rl", max_steps="4")
    with pytest.raises(BadConfig, match="did you mean max_steps"):
        configure("rl", max_step=4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_kept_of_a_run_is_the_configuration_again(mode: Mode, preset: str) -> None:
    if mode == "supervised" and preset == "calls":
        with pytest.raises(BadConfig, match="single answers only"):
            parse(mode, [f"preset={preset}"])
        return
    config = parse(mode, [f"preset={preset}", "test_coef=0.5"])
    assert from_json(json.loads(json.dumps(to_json(config))), mode) == config


def test_a_run_of_an_earlier_version_is_resumed_with_its_own_options(old_run: Path) -> None:
    choice = choose_resumed(old_run, ["max_steps=40"])
    config = choice.config
    assert (config.mode, config.student, config.optim.max_steps) == ("rl", "rtl-agent/student", 40)
    assert (config.episode.timeout_seconds, config.episode.level) == (60.0, "own-tests")
    assert (config.run.log_path, config.run.behavior_if_log_dir_exists) == (str(old_run), "resume")
    assert choice.origins["max_steps"] == "command line"
    assert choice.origins["lora_rank"] == EARLIER_START


def test_the_directory_of_an_earlier_version_takes_the_new_configuration(old_run: Path) -> None:
    """Options that were added or removed since are no changes that its steps depend on; others are."""
    config = choose_resumed(old_run).config
    with RunWriter.create(old_run, to_json(config), if_exists="resume", fixed=FIXED) as run:
        assert run.last_checkpoint is None
    other = replace(config, episode=replace(config.episode, max_tokens=128))
    with pytest.raises(RunError, match="another value of max_tokens"):
        RunWriter.create(old_run, to_json(other), if_exists="resume", fixed=FIXED)


def test_words_that_resume_go_over_the_runs_own_options(old_run: Path) -> None:
    words = [f"log_path={old_run}", "behavior_if_log_dir_exists=resume", "learning_rate=1e-5"]
    config = choose("rl", words).config
    assert (config.optim.learning_rate, config.episode.timeout_seconds) == (1e-5, 60.0)
    replaced = choose("rl", [f"log_path={old_run}"], ask=lambda _: "delete").config
    assert replaced.run.behavior_if_log_dir_exists == "delete"
    assert replaced.episode.timeout_seconds == Config().episode.timeout_seconds


@pytest.mark.parametrize("content", ['{"mode": "rl", "max_steps": "many"}', '{"mode": "chess"}', "{", "[]"])
def test_a_config_that_cannot_be_resumed_is_said(old_run: Path, content: str) -> None:
    (old_run / "config.json").write_text(content)
    with pytest.raises(BadConfig, match=r"config\.json"):
        choose_resumed(old_run)


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="is not a run directory"):
        choose_resumed(tmp_path)


def test_the_steps_done_depend_on_what_is_asked_and_not_on_how_long() -> None:
    assert {"mode", "student", "teacher", "seed", "batch_size", "extraction", "reward"} <= set(FIXED)
    assert not {"max_steps", "learning_rate", "backend", "log_path", "save_every", "timeout_seconds"} & set(FIXED)


def test_the_plan_names_every_changed_option_with_its_origin() -> None:
    choice = choose_new("distill", ["backend=http://127.0.0.1:8000", "kl_penalty_coef=0.5", "max_tokens=256"])
    lines = list(plan(choice))
    assert lines[0] == "distill: rtl-agent/student, taught by rtl-agent/teacher"
    assert "backend: http://127.0.0.1:8000" in lines
    said = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.startswith("  ")}
    assert said["kl_penalty_coef=0.5"] == "command line"
    assert said["one_pass=true"] == "preset small"
    changed = {known.flat for known in options_for("distill") if known.of(choice.config) != known.default}
    assert {word.partition("=")[0] for word in said} == changed - {"backend"}


@pytest.mark.parametrize("width", [80, None])
def test_help_and_presets_show_all_and_keep_to_the_width(width: int | None) -> None:
    choice = choose_new("distill", ["preset=demo"])
    lines = [*help_text("distill", choice, width), *presets_text(width)]
    assert "  learning_rate=0.0006 *" in {line[:24] for line in lines}
    if width:
        assert max(map(len, lines)) <= width
    for known in options_for("distill"):
        assert any(line.startswith(f"  {known.flat}=") for line in lines), known.flat


def test_a_frozen_configuration_is_changed_by_a_copy() -> None:
    config = Config()
    assert replace(config, optim=replace(config.optim, max_steps=3)).optim.max_steps == 3
    assert config.optim.max_steps == 0

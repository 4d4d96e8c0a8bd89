"""`key=value` words -> a config: a preset first, the words over it."""

import difflib
from collections.abc import Mapping, Sequence

import chz

from rtl_agent.prompts import system_names
from rtl_agent.training.config import RL, Config, Distill, Supervised
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.presets import PRESETS

MODES: Mapping[str, type[Config]] = {"distill": Distill, "rl": RL, "supervised": Supervised}


def parse(mode: str, words: Sequence[str]) -> Config:
    """BadConfig says which word is wrong."""
    kind = MODES[mode]
    for word in words:
        if "=" not in word:
            raise BadConfig(f"{word!r} is no option: write key=value; `rtl-agent train {mode} --help` lists them")
    rest = [word for word in words if not word.startswith("preset=")]
    chosen = [word.removeprefix("preset=") for word in words if word.startswith("preset=")]
    preset = chosen[-1] if chosen else default_preset(rest)
    if preset not in PRESETS:
        raise BadConfig(f"preset={preset}: choose from {', '.join(PRESETS)}")
    known = chz.chz_fields(kind)
    for name in (word.lstrip("-").partition("=")[0] for word in rest):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise BadConfig(f"there is no option {name}: {meant}`rtl-agent train {mode} --help` lists them")
    values = {name: value for name, value in PRESETS[preset].items() if name in known}
    if mode != "distill" and "student_model" in PRESETS[preset]:
        values["model_name"] = PRESETS[preset]["student_model"]
    blueprint = chz.Blueprint(kind).apply(values, layer_name=f"preset {preset}")
    try:
        config = blueprint.make_from_argv([word.lstrip("-") for word in rest])
    except Exception as error:  # chz has no common ancestor for its complaints
        raise BadConfig(_first_line(error)) from error
    check(config)
    return config


def default_preset(words: Sequence[str]) -> str:
    """The embedded one, unless a run is to be somewhere else."""
    backends = [word.removeprefix("backend=") for word in words if word.startswith("backend=")]
    return "embedded" if not backends or backends[-1] == "embedded" else "none"


def check(config: Config) -> None:
    """What no type can say."""
    at_least_one = ("batch_size", "group_size", "max_tokens", "num_substeps", "epochs", "max_turns", "tries")
    for name in at_least_one:
        if getattr(config, name) < 1:
            raise BadConfig(f"{name}={getattr(config, name)}: it must be 1 or more")
    for name in ("eval_every", "save_every", "max_steps", "lora_rank", "limit", "warmup_steps", "max_prompt_tokens"):
        if getattr(config, name) < 0:
            raise BadConfig(f"{name}={getattr(config, name)}: it must be 0 or more")
    if config.learning_rate <= 0:
        raise BadConfig(f"learning_rate={config.learning_rate:g}: it must be more than 0")
    if config.num_substeps > config.batch_size:
        raise BadConfig(f"num_substeps={config.num_substeps}: more than the {config.batch_size} groups of a step")
    if config.rounds < 0:
        raise BadConfig(f"rounds={config.rounds}: it must be 0 or more")
    if config.mode == "supervised" and config.env != "single":
        raise BadConfig(f"env={config.env}: references can be learned as single answers only")
    if config.system not in system_names():
        raise BadConfig(f"system={config.system}: choose from {', '.join(system_names())}")
    if config.level == "open":
        raise BadConfig(
            "level=open: the model could read the tests, so every reward is 0 and nothing would be learned; choose "
            "spec, own-tests or feedback (`rtl-agent play --level open` is for finding faults in problems)"
        )
    weights = config.weights()
    for name in ("format", "interface", "syntax", "tests"):
        if not 0 <= getattr(weights, name) < float("inf"):
            raise BadConfig("weights of the reward are numbers of 0 or more")


def warnings(config: Config) -> list[str]:
    """What will work, but hardly as meant."""
    found = []
    if config.group_size == 1 and config.reward_coef and config.mode != "supervised":
        found.append(
            "group_size=1: the reward has no effect, because it is compared with the mean of its own group; "
            "use 4 or more"
        )
    if config.oss_sim_image:
        found.append("oss_sim_image is ignored: there is no Docker sandbox yet, designs run in bubblewrap boxes")
    if config.workspace_dir:
        found.append("workspace_dir is ignored: boxes are in memory, and rollouts are kept in the run directory")
    if config.compile_coef:
        found.append("compile_coef is ignored: what compiles is judged by the syntax stage, weighted by syntax_coef")
    return found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)

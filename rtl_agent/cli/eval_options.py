"""What `rtl-agent eval` and `rtl-agent play` share: the options that say who is asked, and by which rules."""

from typing import Annotated, Any

import typer

from rtl_agent.cli import console
from rtl_agent.cli.runs import find_run
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.grading import parse_weights
from rtl_agent.options import BadOption, options_of

_MISSING = "this needs more packages: run `make setup`, or pip install 'rtl-agent[train]'"

# who
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        help="A model's or adapter's name, a run directory, a model's or adapter's folder, or a tinker:// path.",
    ),
]
Backend = Annotated[str, typer.Option(help="embedded, tinker or http://host:port. [default: embedded, or the run's]")]
EngineName = Annotated[
    str, typer.Option("--engine", help="On this machine: qwen3 or transformers. [default: by the model, or the run's]")
]
BaseUrl = Annotated[str, typer.Option("--base-url", help="An OpenAI-compatible endpoint, such as http://host/v1.")]
KeyName = Annotated[
    str,
    typer.Option("--api-key-env", help="The variable that holds the endpoint's key. [default: OPENAI_API_KEY if set]"),
]
CheckpointName = Annotated[str, typer.Option("--checkpoint", help="Of a run: best, last or a name. [default: best]")]
Renderer = Annotated[str, typer.Option(help="How messages become tokens. [default: by the model's name]")]

_RULES = dict(options_of(EpisodeConfig))
_DEFAULTS = EpisodeConfig()


def _rule(name: str, *also: str) -> Any:
    """A rule of the episode by its flat name. Left out, it is the run's where a run is evaluated, else the default."""
    known = _RULES[name]
    flag = "--" + (known.alias or name).replace("_", "-")
    default = getattr(_DEFAULTS, name)
    if isinstance(default, bool):
        flag, default = f"{flag}/--no-{flag.removeprefix('--')}", "no"
    shown = f"{default:g}" if isinstance(default, float) else str(default) or "empty"
    text = known.help[0].upper() + known.help[1:] + f". [default: {shown}, or the run's]"
    return typer.Option(flag, *also, help=text.replace("env=", "--env ").replace("level=", "--level "))


# by which rules
Env = Annotated[str | None, _rule("kind")]
Level = Annotated[str | None, _rule("level")]
System = Annotated[str | None, _rule("system")]
MaxTokens = Annotated[int | None, _rule("max_tokens")]
EpisodeTokens = Annotated[int | None, _rule("episode_tokens")]
MaxPromptTokens = Annotated[int | None, _rule("max_prompt_tokens")]
MaxTurns = Annotated[int | None, _rule("max_turns")]
Rounds = Annotated[int | None, _rule("rounds")]
Tries = Annotated[int | None, _rule("tries")]
ExtraTools = Annotated[bool | None, _rule("extra_tools")]
EpisodeSeconds = Annotated[float | None, _rule("episode_seconds")]
CommandSeconds = Annotated[float | None, _rule("command_seconds")]
RefineReward = Annotated[str | None, _rule("refine_reward")]
HowRead = Annotated[str | None, _rule("extraction")]
TimeoutSeconds = Annotated[float | None, _rule("timeout_seconds", "--timeout")]

# how answers are sampled and judged
Temperature = Annotated[
    float | None, typer.Option(min=0.0, help="0 takes the likeliest token. [default: 0, or 1 with several samples]")
]
Seed = Annotated[int, typer.Option(help="Seed of sampling; the same seed repeats the answers, if the backend can.")]
Reward = Annotated[str, typer.Option(help="staged, graded, binary, or weights such as format=0.1,tests=1.")]


def found_model(model: str) -> str:
    """A run may be named as `rtl-agent runs` names it."""
    return str(find_run(model)) if not model.startswith("tinker://") else model


def checked_reward(reward: str) -> None:
    try:
        parse_weights(reward)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--reward") from error


def in_flags(error: BadOption) -> str:
    """Which flag has a wrong value, as a person writes it."""
    return f"--{error.name.replace('_', '-')} {error.value}: {error.reason}".replace("env=", "--env ")


def needs_training_packages() -> None:
    try:
        import tinker_cookbook  # noqa: F401
    except ImportError as error:
        console.say_error(f"{_MISSING} ({error.name} is not there)")
        raise typer.Exit(console.BAD_INPUT) from error

"""What `rtl-agent eval` and `rtl-agent play` share: the options that say who is asked, and by which rules."""

from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.runs import find_run
from rtl_agent.grading import parse_weights

_MISSING = "this needs more packages: run `make setup`, or pip install 'rtl-agent[train]'"

# who
ModelName = Annotated[
    str, typer.Option("--model", help="A model's name, a run directory, a model directory, or a tinker:// path.")
]
Backend = Annotated[str, typer.Option(help="embedded, tinker or http://host:port. [default: embedded, or the run's]")]
BaseUrl = Annotated[str, typer.Option("--base-url", help="An OpenAI-compatible endpoint, such as http://host/v1.")]
KeyName = Annotated[
    str,
    typer.Option("--api-key-env", help="The variable that holds the endpoint's key. [default: OPENAI_API_KEY if set]"),
]
CheckpointName = Annotated[str, typer.Option("--checkpoint", help="Of a run: best, last or a name. [default: best]")]
Renderer = Annotated[str, typer.Option(help="How messages become tokens. [default: by the model's name]")]
System = Annotated[str, typer.Option(help="The system message. [default: short for rtl-agent/*, else default]")]

# by which rules
Env = Annotated[str, typer.Option(help="single, refine or agentic.")]
Level = Annotated[
    str, typer.Option(help="What an agent may know: spec, own-tests, feedback, open. [default: own-tests]")
]
ExtraTools = Annotated[bool, typer.Option("--extra-tools", help="lint, simulate and submit beside the agent's shell.")]
MaxTurns = Annotated[int, typer.Option("--max-turns", min=1, help="Of an agent.")]
Tries = Annotated[int, typer.Option(min=1, help="Submits of an agent at level feedback.")]
Rounds = Annotated[int, typer.Option(min=0, help="Of refinement, after the first answer.")]
Counted = Annotated[str, typer.Option(help="Which round of refinement counts: last or best.")]
Conversation = Annotated[
    int, typer.Option("--max-conversation", min=0, help="Most tokens of a conversation. [default: the model's context]")
]

# how answers are sampled and judged
Temperature = Annotated[
    float | None, typer.Option(min=0.0, help="0 takes the likeliest token. [default: 0, or 1 with several samples]")
]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Most tokens of an answer.")]
Seed = Annotated[int, typer.Option(help="Of sampling: the same seed repeats where the backend can.")]
Reward = Annotated[str, typer.Option(help="staged, graded, binary, or weights such as format=0.1,tests=1.")]


def found_model(model: str) -> str:
    """A run may be named as `rtl-agent runs` names it."""
    return str(find_run(model)) if not model.startswith("tinker://") else model


def checked_reward(reward: str) -> None:
    try:
        parse_weights(reward)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--reward") from error


def needs_training_packages() -> None:
    try:
        import tinker_cookbook  # noqa: F401
    except ImportError as error:
        console.say_error(f"{_MISSING} ({error.name} is not there)")
        raise typer.Exit(console.BAD_INPUT) from error

"""`rtl-agent train distill | rl | supervised key=value ...`: options as tinker-cookbook's users write them."""

import sys
from typing import Annotated

import typer
from rich.table import Table

from rtl_agent.cli import console
from rtl_agent.report import write_report
from rtl_agent.training.config import Mode

_WORDS = Annotated[list[str] | None, typer.Argument(metavar="[key=value ...]", show_default=False)]
_AS_WRITTEN = {"ignore_unknown_options": True, "help_option_names": []}
_MISSING = "training needs more packages: run `make setup`, or pip install 'rtl-agent[train]'"

app = typer.Typer(help="Train a model by reinforcement learning, distillation, or both.", no_args_is_help=True)


@app.command("distill", context_settings=_AS_WRITTEN)
def distill(words: _WORDS = None) -> None:
    """A student learns from a teacher's advice on its own tokens, and from the reward."""
    _train("distill", words or [])


@app.command("rl", context_settings=_AS_WRITTEN)
def rl(words: _WORDS = None) -> None:
    """A student learns from the reward alone."""
    _train("rl", words or [])


@app.command("supervised", context_settings=_AS_WRITTEN)
def supervised(words: _WORDS = None) -> None:
    """A student learns the problems' references: the control of a comparison."""
    _train("supervised", words or [])


def ensure_packages() -> None:
    """Say what to install where the `train` extra is missing."""
    try:
        import tinker_cookbook  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        console.say_error(f"{_MISSING} ({error.name} is not there)")
        raise typer.Exit(console.BAD_INPUT) from error


def _train(mode: Mode, words: list[str]) -> None:
    ensure_packages()
    if {"--help", "-h", "help"} & set(words):
        _help(mode)
        return
    from rtl_agent.training.errors import TrainingError
    from rtl_agent.training.parse import parse
    from rtl_agent.training.start import start

    try:
        path = start(parse(mode, words), console.err)
    except TrainingError as error:
        console.say_error(str(error))
        sys.exit(error.exit_code)
    page = write_report(path).page
    console.err.print(f"report: {page}", highlight=False, markup=False)
    typer.echo(path)


def _help(mode: Mode) -> None:
    from rtl_agent.training.config import MODES, options_for
    from rtl_agent.training.parse import choose_new
    from rtl_agent.training.presets import PRESETS

    shown = choose_new(mode, []).config
    console.out.print(f"Usage: rtl-agent train {mode} [preset=NAME] [key=value ...]\n", highlight=False, markup=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("option", "default", "meaning"):
        table.add_column(title, overflow="fold")
    table.add_row("preset", "small", f"options by name: {', '.join(PRESETS)}; key=value goes over it")
    for known in options_for(mode):
        table.add_row(known.flat, _written(known.of(shown)), known.option.help)
    console.out.print(table)
    console.out.print(f"\n{MODES[mode]}", markup=False)


def _written(value: object) -> str:
    if value is None:
        return "by the reward preset"
    return "" if value == "" else str(value)

"""`rtl-agent train distill | rl | supervised key=value ...`: options as tinker-cookbook's users write them."""

import sys
from typing import Annotated

import typer
from rich.table import Table

from rtl_agent.cli import console
from rtl_agent.report import write_report

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
        import chz  # noqa: F401
        import tinker_cookbook  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        console.say_error(f"{_MISSING} ({error.name} is not there)")
        raise typer.Exit(console.BAD_INPUT) from error


def _train(mode: str, words: list[str]) -> None:
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


def _help(mode: str) -> None:
    """Every option, its default under the embedded preset, and what it means."""
    import chz

    from rtl_agent.training.parse import MODES
    from rtl_agent.training.presets import PRESETS

    fields = chz.chz_fields(MODES[mode])
    console.out.print(f"Usage: rtl-agent train {mode} [preset=NAME] [key=value ...]\n", highlight=False, markup=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("option", "default", "meaning"):
        table.add_column(title, overflow="fold")
    table.add_row("preset", "embedded", f"options by name: {', '.join(PRESETS)}; key=value goes over it")
    own, common = MODES[mode], MODES[mode].__mro__[1]
    names = [name for name in fields if name not in chz.chz_fields(common)] + list(chz.chz_fields(common))
    for name in names:
        default = PRESETS["embedded"].get(name, fields[name]._default)
        table.add_row(name, _written(default), fields[name]._doc)
    console.out.print(table)
    console.out.print(f"\n{own.__doc__} Another preset leaves out the embedded one's defaults.", markup=False)


def _written(value: object) -> str:
    if value is None:
        return "by the reward preset"
    return "" if value == "" else str(value)

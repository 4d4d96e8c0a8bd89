"""`rtl-agent train distill | rl | supervised | resume | presets`: options are `key=value`, as in tinker-cookbook."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.runs import RunPath, find_run
from rtl_agent.report import write_report
from rtl_agent.training.config import Mode
from rtl_agent.training.errors import BadConfig, TrainingError
from rtl_agent.training.parse import Choice, choose, choose_new, choose_resumed
from rtl_agent.training.plan import help_text, plan, presets_text, run_directory

_WORDS = Annotated[list[str] | None, typer.Argument(metavar="[key=value ...]", show_default=False)]
_AS_WRITTEN = {"ignore_unknown_options": True, "help_option_names": []}
_NEEDED = ("tinker", "tinker_cookbook", "torch")
_HELP = {"--help", "-h", "help"}
_DRY = {"--dry-run", "--dry_run"}

app = typer.Typer(
    help="Train a model by reinforcement learning, distillation, or both. `rtl-agent train MODE --help` lists options.",
    no_args_is_help=True,
)


@app.command("distill", short_help="A student learns from a teacher and the reward.", context_settings=_AS_WRITTEN)
def distill(words: _WORDS = None) -> None:
    """A student learns from a teacher's advice on its own tokens, and from the reward."""
    _train_new("distill", words or [])


@app.command("rl", context_settings=_AS_WRITTEN)
def rl(words: _WORDS = None) -> None:
    """A student learns from the reward alone."""
    _train_new("rl", words or [])


@app.command("supervised", short_help="A student learns the reference solutions.", context_settings=_AS_WRITTEN)
def supervised(words: _WORDS = None) -> None:
    """A student learns the problems' reference solutions: a baseline to compare with."""
    _train_new("supervised", words or [])


@app.command("resume", context_settings={"ignore_unknown_options": True})
def resume(
    run: RunPath,
    words: _WORDS = None,
) -> None:
    """Resume a run at its last checkpoint. It keeps its options; key=value changes those that may change."""
    ensure_packages()
    _train(lambda: choose_resumed(find_run(run), words or []))


@app.command("presets")
def presets() -> None:
    """List the presets with the options that they set."""
    _print(presets_text(_width()))


def ensure_packages() -> None:
    """Say what to install where the `train` extra is missing; to import torch would take seconds."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        console.say_error(
            "training needs more packages: run `make setup`, or pip install 'rtl-agent[train]' "
            f"({', '.join(missing)} is not installed)"
        )
        raise typer.Exit(console.BAD_INPUT)


def train_as_planned(choose_it: Callable[[], Choice]) -> Path:
    """Print what will be done, then do it. Errors end the process with a sentence and their exit code."""
    try:
        choice = choose_it()
        config = choice.config
        config = replace(config, run=replace(config.run, log_path=str(run_directory(config))))
        for line in plan(replace(choice, config=config)):
            console.err.print(console.harmless(line), highlight=False, markup=False, soft_wrap=True)
        from rtl_agent.training.start import start  # imports torch and tinker: seconds, after the plan is shown

        return start(config, console.err)
    except TrainingError as error:
        if error.exit_code == console.INTERRUPTED:
            console.err.print(str(error), highlight=False, markup=False, soft_wrap=True)
        else:
            console.say_error(str(error))
        sys.exit(error.exit_code)


def _train_new(mode: Mode, words: list[str]) -> None:
    if _HELP & set(words):
        _help(mode, [word for word in words if word not in _HELP])
        return
    ensure_packages()
    if _DRY & set(words):
        _foresee(mode, [word for word in words if word not in _DRY])
        return
    _train(lambda: choose(mode, words))


def _train(choose_it: Callable[[], Choice]) -> None:
    path = train_as_planned(choose_it)
    try:
        page = write_report(path).page
    except KeyboardInterrupt:
        console.say_error(f"interrupted after the last step: `rtl-agent report {path}` writes the report")
        raise SystemExit(console.INTERRUPTED) from None
    console.err.print(f"report: {page}", highlight=False, markup=False)
    typer.echo(path)


def _foresee(mode: Mode, words: list[str]) -> None:
    """The plan, and what the run would take; nothing is started."""
    try:
        choice = choose_new(mode, words)
        for line in plan(choice):
            console.err.print(console.harmless(line), highlight=False, markup=False, soft_wrap=True)
        from rtl_agent.envs.renderers import UnknownRenderer  # these import torch and tinker: seconds
        from rtl_agent.envs.tokenizers import NoTokenizer
        from rtl_agent.training.forecast import forecast, lines

        try:
            found = forecast(choice.config)
        except (NoTokenizer, UnknownRenderer) as error:
            raise BadConfig(str(error)) from error
    except TrainingError as error:
        console.say_error(str(error))
        sys.exit(error.exit_code)
    _print(map(console.harmless, lines(found, choice.config)))


def _help(mode: Mode, words: list[str]) -> None:
    try:
        choice = choose_new(mode, words)
    except TrainingError as error:
        console.say_error(str(error))
        sys.exit(error.exit_code)
    _print(help_text(mode, choice, _width()))


def _width() -> int | None:
    """Of the terminal; in a pipe lines are not wrapped, so that `grep` finds whole ones."""
    return console.out.width if console.out.is_terminal else None


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)

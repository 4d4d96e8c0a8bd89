"""`rtl-agent pretrain`: the small models from scratch, on generated problems."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rtl_agent.cli import console
from rtl_agent.cli.train import ensure_packages


def pretrain(
    which: Annotated[
        str,
        typer.Argument(help="teacher, student, student-base, student-reader, agent, teacher-2 or teacher-2-more"),
    ],
    out: Annotated[Path, typer.Option(help="Directory for the model; an unfinished one is resumed.")],
    tokens: Annotated[
        int | None, typer.Option(min=1000, help="Tokens to train on, prompts and padding included.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the weights and the problems.")] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="Directory of weights to begin with, in place of the shipped ones."
        ),
    ] = None,
) -> None:
    """Train a shipped model from scratch, as it was made. Started again, it resumes where it last saved."""
    ensure_packages()
    import torch

    from rtl_agent.backends.engine.contract import EngineError
    from rtl_agent.backends.models.registry import own_config
    from rtl_agent.training.pretrain import Pretraining
    from rtl_agent.training.pretrain import pretrain as run
    from rtl_agent.training.pretrain.job import Progress as Done
    from rtl_agent.training.pretrain.recipes import RECIPES
    from rtl_agent.training.pretrain.transplant import weights_for

    if which not in RECIPES:
        raise typer.BadParameter(f"choose from {', '.join(RECIPES)}", param_hint="WHICH")
    recipe = RECIPES[which]
    name = recipe.model or f"rtl-agent/{which}"
    config = own_config(name)
    try:
        weights = weights_for(name, recipe.start, start) if recipe.start or start else None
    except EngineError as error:
        raise typer.BadParameter(str(error), param_hint="--start") from error
    torch.set_num_threads(1)  # results depend on it, and a second thread adds nothing at this size
    number = recipe.seed if seed is None else seed
    job = Pretraining(tokens=tokens or recipe.tokens, seed=number, rates=recipe.rates)
    material = recipe.material(number, recipe.course, name)
    told = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console.err) as progress:
        task = progress.add_task(which, total=job.tokens, note="")

        def step(done: Done) -> None:
            nonlocal told
            speed = done.tokens / max(done.cpu_seconds, 1e-9)
            note = f"step {done.step}  loss {done.loss:.3f}  {speed:,.0f} tokens/CPU s"
            progress.update(task, completed=done.tokens, note=note)
            if not console.err.is_terminal and time.monotonic() - told > 30:
                told = time.monotonic()
                console.err.print(f"{done.tokens:,} of {job.tokens:,} tokens  {note}", highlight=False)

        done = run(job, config, material, out, start=weights, on_step=step)
    typer.echo(f"{out}: {done.tokens:,} tokens, loss {done.loss:.4f}, {done.cpu_seconds:,.0f} CPU s")

"""`rtl-agent pretrain`: the small models from scratch, on generated problems."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rtl_agent.cli import console

# Shares of decisions by habit: a teacher reads the specification, a student mostly does not.
HABIT = {"teacher": 0.0, "student": 0.7, "student-base": 0.7}
SEEDS = {"teacher": 1, "student": 2, "student-base": 3}


def pretrain(
    which: Annotated[str, typer.Argument(help="teacher, student or student-base (running text, no turns)")],
    out: Annotated[Path, typer.Option(help="Directory for the model; one that is there is gone on with.")],
    tokens: Annotated[int, typer.Option(min=1000, help="How many, prompts and padding included.")] = 8_000_000,
    habit: Annotated[float | None, typer.Option(min=0, max=1, help="Share of decisions by textbook habit.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of weights and problems.")] = None,
) -> None:
    """Train a model from scratch. Killed and started again it goes on where it last saved."""
    if which not in HABIT:
        raise typer.BadParameter(f"choose from {', '.join(HABIT)}", param_hint="WHICH")
    import torch

    from rtl_agent.backends.models.registry import own_config
    from rtl_agent.training.pretrain import Pretraining
    from rtl_agent.training.pretrain import pretrain as run
    from rtl_agent.training.pretrain.generated import documents, pairs
    from rtl_agent.training.pretrain.job import Progress as Done

    torch.set_num_threads(1)  # results depend on it, and a second thread adds nothing at this size
    number = SEEDS[which] if seed is None else seed
    job = Pretraining(tokens=tokens, seed=number)
    told = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console.err) as progress:
        task = progress.add_task(which, total=tokens, note="")

        def step(done: Done) -> None:
            nonlocal told
            speed = done.tokens / max(done.cpu_seconds, 1e-9)
            note = f"step {done.step}  loss {done.loss:.3f}  {speed:,.0f} tokens/CPU s"
            progress.update(task, completed=done.tokens, note=note)
            if not console.err.is_terminal and time.monotonic() - told > 30:
                told = time.monotonic()
                console.err.print(f"{done.tokens:,} of {tokens:,} tokens  {note}", highlight=False)

        share = HABIT[which] if habit is None else habit
        material = (documents if which == "student-base" else pairs)(number, habit=share)
        done = run(job, own_config(f"rtl-agent/{which}"), material, out, on_step=step)
    typer.echo(f"{out}: {done.tokens:,} tokens, loss {done.loss:.4f}, {done.cpu_seconds:,.0f} CPU s")

"""`rtl-agent view`: runs and evaluations in the browser."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.view import Library, Viewer


def view(
    where: Annotated[
        Path | None,
        typer.Argument(
            help="A run directory, a folder of them, or the JSONL of an evaluation.", show_default="./runs and ./evals"
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any other than loopback is guarded by a random token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8920,
) -> None:
    """Look at runs, groups, rollouts, tests and tokens in the browser, while they are being written too."""
    roots = [where] if where else [Path("runs"), Path("evals")]
    if not any(root.exists() for root in roots):
        named = " and ".join(map(str, roots))
        console.say_error(f"there is no {named}: name a run directory, a folder of runs, or an evaluation's JSONL file")
        raise typer.Exit(console.BAD_INPUT)
    try:
        viewer = Viewer(Library(roots, decode), host, port)
    except OSError as error:
        console.say_error(f"cannot listen on {host} port {port}: {error.strerror}; give another --port, or --port 0")
        raise typer.Exit(console.BAD_INPUT) from None
    with viewer:
        typer.echo(f"{viewer.url}\nCtrl-C ends it.")
        try:
            viewer.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")


def decode(model: str, tokens: Sequence[int]) -> list[str] | None:
    """The text of each token, where the packages of the train extra and the model's tokenizer are here."""
    try:
        from rtl_agent.envs.tokenizers import tokenizer_for

        tokenizer = tokenizer_for(model)
        return [str(tokenizer.decode([token])) for token in tokens]
    except Exception:  # whatever a tokenizer raises, the page goes on without the heat map
        return None

"""`rtl-agent view`: runs and evaluations in the browser, or as a static copy."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from rtl_agent.cli import console
from rtl_agent.local_models import TOKENIZER, tokenizer_folder
from rtl_agent.view import BundleError, Library, Viewer, write_bundle
from rtl_agent.view.summaries import evaluation_settings

MIB = 1 << 20


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
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="OUT",
            help="Write a static copy into this folder instead, for any web server or to be opened from disk.",
        ),
    ] = None,
) -> None:
    """Look at runs, groups, rollouts, tests and tokens in the browser, while they are being written too."""
    roots = [where] if where else [Path("runs"), Path("evals")]
    if not any(root.exists() for root in roots):
        named = " and ".join(map(str, roots))
        console.say_error(f"there is no {named}: name a run directory, a folder of runs, or an evaluation's JSONL file")
        raise typer.Exit(console.BAD_INPUT)
    if where is not None and where.is_file() and not evaluation_settings(where):
        console.say_error(
            f"{where} is not the JSONL of an evaluation: name such a file, a run directory, or a folder of runs"
        )
        raise typer.Exit(console.BAD_INPUT)
    library = Library(roots, decode)
    if bundle is not None:
        _write(library, bundle)
        return
    try:
        viewer = Viewer(library, host, port)
    except OSError as error:
        console.say_error(f"cannot listen on {host} port {port}: {error.strerror}; give another --port, or --port 0")
        raise typer.Exit(console.BAD_INPUT) from None
    with viewer:
        _index(library)
        typer.echo(f"{viewer.url}\nCtrl-C ends it.")
        try:
            viewer.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")


def _index(library: Library) -> None:
    """Reads once what was written without an index; whoever is in a hurry stops it, and waits for a run at a time."""
    mib = -(-library.unread() // MIB)
    done = 0
    with console.progress_bar("reading rollouts, MB (Ctrl-C: later)", mib) as progress:

        def told(length: int) -> None:
            nonlocal done
            done += length
            progress.update(progress.task_ids[0], completed=done // MIB)

        try:
            library.index_all(told)
        except KeyboardInterrupt:
            console.say_warning("not all rollouts were read: each run is, once it is opened")


def _write(library: Library, out: Path) -> None:
    _index(library)
    try:
        with console.progress_bar("rollouts", library.count()) as progress:
            written = write_bundle(library, out, lambda: progress.advance(progress.task_ids[0]))
    except BundleError as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    size = f"{written.size / MIB:.1f} MB in {written.files} files"
    waves = f"waves of {written.waves:,} tests" if written.waves else "no waves: none was looked at before"
    typer.echo(
        f"{out / 'index.html'}\n{written.rollouts:,} rollouts, {size}; {waves}. The copy has no search in texts."
    )


def decode(model: str, tokens: Sequence[int]) -> list[str] | None:
    """The text of each token, where the model's tokenizer is on this machine: nothing is fetched."""
    try:
        of = _decoder(model)
        return None if of is None else of(tokens)
    except Exception:  # whatever a tokenizer raises, the page goes on without the heat map
        return None


@cache
def _decoder(model: str) -> Callable[[Sequence[int]], list[str]] | None:
    """With the tokenizers package alone: transformers and the cookbook take seconds to import."""
    file = _tokenizer_file(model)
    if file is None:
        return None
    from tokenizers import Tokenizer

    known: Any = Tokenizer.from_file(str(file))
    return lambda tokens: [known.decode([token], skip_special_tokens=False) for token in tokens]


def _tokenizer_file(model: str) -> Path | None:
    if (folder := tokenizer_folder(model)) is not None:
        return folder / TOKENIZER
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model, TOKENIZER)  # without asking the hub
    return Path(found) if isinstance(found, str) else None

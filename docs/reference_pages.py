"""A Sphinx extension that writes reference pages from the code: the command line, as `--help` knows it."""

from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from rtl_agent.cli.main import app as command_line

HERE = Path(__file__).parent
WRITTEN = HERE / "_written"  # not in git

HEAD = """# The command line

Every command has `--help`, and this page is made from the same text. Exit codes: 0 success; 1 a judged failure (an
answer that failed, a criterion that was not met); 2 wrong usage or input; 3 an internal error.
"""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}


def write(app: Sphinx) -> None:
    WRITTEN.mkdir(exist_ok=True)
    root = typer.main.get_command(command_line)
    (WRITTEN / "cli.md").write_text("\n".join([HEAD, *sections(root, "rtl-agent", 1)]) + "\n")


def sections(command: Any, name: str, depth: int) -> list[str]:
    """This command and all below it, in the order in which they were added."""
    below = getattr(command, "commands", {})
    lines = [] if depth == 1 else [f"{'#' * min(depth, 4)} `{name}`", "", text(command.help or ""), ""]
    rows = [row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    if rows and depth > 1:
        lines += ["| option | default | |", "| --- | --- | --- |", *rows, ""]
    for short, inner in below.items():
        lines += sections(inner, f"{name} {short}", depth + 1)
    return lines


def row(parameter: Any) -> str:
    options = [*parameter.opts, *parameter.secondary_opts]
    is_option = options and options[0].startswith("-")
    shown = ", ".join(f"`{option}`" for option in options) if is_option else f"`{parameter.name.upper()}`"
    default = parameter.default
    plain = "" if default in (None, "", False, [], ()) or callable(default) else f"`{default}`"
    return f"| {shown} | {plain} | {text(getattr(parameter, 'help', '') or '')} |"


def text(words: str) -> str:
    """Help text as Markdown: one paragraph, and nothing in it that a table would take for its own."""
    return " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")

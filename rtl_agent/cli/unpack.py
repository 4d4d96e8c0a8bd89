"""`rtl-agent problems unpack`: a problem as a workspace for a person, who writes the design and runs `./run.sh`."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import SkipBad, Source
from rtl_agent.cli.new_workspace import RUN, CannotWrite, ensure_new, write_files, write_run
from rtl_agent.cli.tables import print_plain
from rtl_agent.problems import NEEDS_IN_WORDS, PROBLEM_SOURCES, Needs, Problem, Selection

_WHAT_RUNS = (
    "Grades the design in this folder, in rtl-agent's sandbox: `./run.sh --help` lists the options, such as",
    "-k TEST for some tests, -v for what the tools print, --keep DIR for a folder that runs a failed test again.",
)
_TESTS_ARE_HERE = (
    "the tests are in harness/: whoever has read them, model or person, cannot be scored on this problem any more"
)


def unpack(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The problem.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it: a new or empty directory.")],
    source: Source = "bundled",
    harness: Annotated[
        bool,
        typer.Option("--harness", help="Write the tests, too. Whoever has read them cannot be scored on this problem."),
    ] = False,
    skip_bad: SkipBad = False,
) -> None:
    """Write a problem as a workspace: specification, given files, and a run.sh that grades your design."""
    problem = console.chosen(source, Selection(ids=[identifier]), skip_bad=skip_bad)[0]
    ensure_new(directory)
    files, task = workspace_of(problem, harness=harness)
    write_files(directory, files)
    write_run(directory, _WHAT_RUNS, ["grade", _from_anywhere(source), "--id", problem.id, "--files"])
    for target in problem.targets:
        (directory / target).parent.mkdir(parents=True, exist_ok=True)
    written = ", ".join(problem.targets) or "nothing: its answer is prose"
    print_plain(console.harmless(f"{directory}: read {task}, write {written}, and run {directory / RUN}"))
    if problem.needs is not Needs.OPEN_TOOLS:
        console.say_warning(f"{RUN} cannot grade this problem: it needs {NEEDS_IN_WORDS[problem.needs]}")
    if harness:
        console.say_warning(_TESTS_ARE_HERE)


def workspace_of(problem: Problem, *, harness: bool) -> tuple[dict[str, str], str]:
    """Path -> text, and where the specification stands among them."""
    files = dict(problem.context)
    for path in (*files, *problem.targets):
        if path == RUN or path.startswith((f"{RUN}/", "harness/")):
            raise CannotWrite(f"{problem.id} has a file {path!r} of its own, which has no place in such a workspace")
    task = _free("docs/task.md", files)
    files[task] = problem.prompt.rstrip("\n") + "\n"
    if harness:
        files |= {f"harness/{path}": text for path, text in problem.harness.files.items()}
    files[_free("README.md", files)] = _readme(problem, task, harness=harness)
    return files, task


def _free(wanted: str, taken: Collection[str]) -> str:
    """The name, or the same with a number where the problem has such a file itself."""
    stem, _, ending = wanted.rpartition(".")
    names = (wanted, *(f"{stem}-{number}.{ending}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _readme(problem: Problem, task: str, *, harness: bool) -> str:
    lines = [
        f"# {problem.id}",
        "",
        f"{task} says what to do, in the words that a model is given.",
        "",
        *(f"* `{path}`: {'change it' if path in problem.context else 'write it'}" for path in problem.targets),
        "",
        f"`./{RUN}` grades your design in the sandbox. Only the files above count; the others are there to be read.",
    ]
    if harness:
        lines += [
            "",
            f"Beware: {_TESTS_ARE_HERE}.",
            "They are there to be read as well: changing them changes no grade.",
        ]
    return console.harmless("\n".join(lines)) + "\n"


def _from_anywhere(source: str) -> str:
    """PROBLEMS as it is meant in any current directory."""
    if source.startswith("files:"):
        return f"files:{Path(source.removeprefix('files:')).absolute()}"
    return source if source.partition(":")[0] in PROBLEM_SOURCES else str(Path(source).absolute())

"""Every command in README and the tutorials is run, or the page says why not.

A comment before a block says how it is meant: `<!-- file: NAME -->` is text to be saved, `<!-- exits with 1 -->` one
whose last command ends so, `<!-- not run: WHY -->` one that is only read. The lines after a command are what it prints,
in this order; `...` stands for anything.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, Command, blocks, commands

_TRAINS = pytest.param(ROOT / "docs" / "start-learning.md", marks=pytest.mark.slow)
TUTORIALS = [ROOT / "docs" / "start-grading.md", _TRAINS, ROOT / "docs" / "own-problems.md"]
CONSOLE = ("console", "sh", "bash", "shell", "")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_is_written(page: Path, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for block in blocks(page):
        if name := re.fullmatch(r"file: (\S+)", block.comment):
            shell.save(name[1], block)
        elif block.info == "console" and not block.comment.startswith("not run: "):
            shell.run(block)
    assert shell.ran, f"{page.name} has no command"


class Shell:
    """Runs the commands of a page in order, in a directory of its own, and stays where `cd` went."""

    def __init__(self, folder: Path) -> None:
        self._here = self._folder = folder
        self.ran = 0

    def save(self, name: str, block: Block) -> None:
        file = self._here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(block.lines) + "\n")

    def run(self, block: Block) -> None:
        said = re.fullmatch(r"exits with (\d+)", block.comment)
        *others, last = commands(block)
        for command in others:
            self._run(block, command, 0)
        self._run(block, last, int(said[1]) if said else 0)

    def _run(self, block: Block, command: Command, exit_code: int) -> None:
        ended = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f'{command.text}\nended=$?; pwd > "$HERE"; exit $ended'],
            cwd=self._here,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "HERE": str(self._folder / ".here"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        told = f"{block}: {command.text}\n{ended.stdout}\n{ended.stderr}"
        assert ended.returncode == exit_code, told
        self._here = Path((self._folder / ".here").read_text().strip())
        rest = ended.stdout
        for line in (line.removesuffix("...") for line in command.expected):
            assert line in rest, f"{block}: {line!r} is not in what follows\n{told}"
            rest = rest[rest.index(line) + len(line) :]
        self.ran += 1


def test_every_other_command_of_readme_says_why_it_is_not_run() -> None:
    silent = [str(block) for block in blocks(ROOT / "README.md") if block.info in CONSOLE and not block.comment]
    assert silent == []


def test_the_python_of_readme_is_an_example_that_is_run() -> None:
    (shown,) = [block for block in blocks(ROOT / "README.md") if block.info == "python"]
    assert "\n".join(shown.lines) + "\n" == (ROOT / "examples" / "grade.py").read_text()

"""Every command in README and the tutorials is run, or the page says why not.

A comment before a block says how it is meant: `<!-- file: NAME -->` is text to be saved, `<!-- exits with 1 -->` one
whose last command ends so, `<!-- not run: WHY -->` one that is only read. The lines after a command are what it prints,
in this order; `...` stands for any lines.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks, commands

TUTORIALS = [ROOT / "docs" / f"{name}.md" for name in ("start-grading", "start-learning", "own-problems")]
CONSOLE = ("console", "sh", "bash", "shell", "")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_is_written(page: Path, tmp_path: Path) -> None:
    ran = 0
    for block in blocks(page):
        if name := re.fullmatch(r"file: (\S+)", block.comment):
            file = tmp_path / name[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(block.lines) + "\n")
        elif block.info == "console" and not block.comment.startswith("not run: "):
            ran += run(block, tmp_path)
    assert ran, f"{page.name} has no command"


def run(block: Block, folder: Path) -> int:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = commands(block)
    for number, command in enumerate(found):
        last = number == len(found) - 1
        said = re.fullmatch(r"exits with (\d+)", block.comment) if last else None
        ended = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.text],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        told = f"{block}: {command.text}\n{ended.stdout}\n{ended.stderr}"
        assert ended.returncode == (int(said[1]) if said else 0), told
        rest = ended.stdout
        for line in command.expected:
            if line and line != "...":
                assert line in rest, f"{block}: {line!r} is not in what follows\n{told}"
                rest = rest[rest.index(line) + len(line) :]
    return len(found)


def test_every_other_command_of_readme_says_why_it_is_not_run() -> None:
    silent = [str(block) for block in blocks(ROOT / "README.md") if block.info in CONSOLE and not block.comment]
    assert silent == []

"""docs/own-problems.md: every command is run, and what the page shows is what is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "own-problems.md"


def sessions() -> list[tuple[str, list[str]]]:
    """Command -> the lines that the page shows below it, in the page's order."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
    return found


def matches(shown: str, printed: str) -> bool:
    head, dots, _ = shown.partition("...")
    return printed.startswith(head) if dots else printed == shown


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "rtl-agent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rtl_agent.cli.main "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    where = tmp_path
    commands = sessions()
    assert len(commands) > 10
    for command, shown in commands:
        done = subprocess.run(
            ["bash", "-c", f"{command}\nstatus=$?\npwd > {tmp_path}/pwd\nexit $status"],
            cwd=where,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
            timeout=300,
        )
        where = Path((tmp_path / "pwd").read_text().strip())
        printed = done.stdout.splitlines()
        doubtful = any("doubtful" in line for line in shown)
        assert done.returncode == (1 if doubtful else 0), (command, done.stdout, done.stderr)
        for line in shown:
            if line != "...":
                assert any(matches(line, one.rstrip()) for one in printed), (command, line, printed)

"""Commands in the tests' own process: starting Python with the packages of a command takes half a second of CPU."""

import sys
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from rtl_agent.cli import console
from rtl_agent.cli.main import run

Here = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """For what a command says; exit codes of real processes, pipes and terminals have tests of their own."""
    monkeypatch.setattr(console.out, "width", 120)  # it was made by whichever test came first

    def command(*words: object) -> "CompletedProcess[str]":
        argv = ["rtl-agent", *map(str, words)]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as ended:
            run()
        code = ended.value.code
        return CompletedProcess(argv, code if isinstance(code, int) else 0, *capsys.readouterr())

    return command

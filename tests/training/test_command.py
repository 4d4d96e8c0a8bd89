"""`rtl-agent train` as a person meets it."""

import subprocess
import sys

import pytest

from rtl_agent.training.config import MODES, Mode, options_for
from rtl_agent.training.presets import PRESETS


def rtl_agent(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rtl_agent.cli.main", "train", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("mode", MODES)
def test_help_lists_every_option_with_its_meaning(mode: Mode) -> None:
    shown = rtl_agent(mode, "--help")
    assert shown.returncode == 0, shown.stderr
    listed = {line.split()[0].partition("=")[0] for line in shown.stdout.splitlines() if line.strip()}
    assert listed >= {known.flat for known in options_for(mode)}
    assert all(name in shown.stdout for name in PRESETS)


def test_a_wrong_option_is_a_sentence_and_an_exit_code() -> None:
    refused = rtl_agent("rl", "batch_sise=4")
    assert refused.returncode == 2
    assert "did you mean batch_size?" in refused.stderr
    assert "Traceback" not in refused.stderr

"""The package, its tests and the examples are typed: mypy, strict, as pyproject.toml says."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_every_type_is_right() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-color-output"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

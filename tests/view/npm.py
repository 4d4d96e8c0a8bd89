"""The page's source in a copy of its own, with the packages that its lock file names."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VIEWER = ROOT / "viewer"


def install(folder: Path) -> None:
    if not shutil.which("npm"):
        pytest.fail("npm is missing: `sh scripts/setup.sh --page` installs it")
    shutil.copytree(VIEWER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

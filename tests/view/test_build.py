"""The page that is committed is the one that its source gives; and it is small."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from tests.view.npm import ROOT, VIEWER

STATIC = ROOT / "rtl_agent" / "view" / "static"
MOST_BYTES = 500_000  # of JavaScript, compressed


def test_the_lock_file_names_packages_and_hashes_but_no_place_to_get_them() -> None:
    text = (VIEWER / "package-lock.json").read_text()
    assert "://" not in text.replace("https://opencollective.com", "").replace("https://github.com/sponsors", "")
    packages = json.loads(text)["packages"]
    assert all("resolved" not in one for one in packages.values())
    assert all(one["integrity"] for name, one in packages.items() if name)


def test_the_javascript_is_small() -> None:
    assert len(gzip.compress((STATIC / "app.js").read_bytes())) < MOST_BYTES


@pytest.mark.slow
def test_the_source_gives_what_is_committed(viewer_source: Path, tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=viewer_source, check=True, capture_output=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(file.name for file in STATIC.iterdir())
    for file in tmp_path.iterdir():
        same = file.read_bytes() == (STATIC / file.name).read_bytes()
        assert same, f"static/{file.name} is not what viewer/ builds: run npm ci && node build.mjs there, and commit it"


@pytest.mark.slow
def test_types_hold(viewer_source: Path) -> None:
    done = subprocess.run(
        ["node_modules/.bin/tsc", "--noEmit"], cwd=viewer_source, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout

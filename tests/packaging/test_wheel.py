"""The wheel in an empty environment, as an ordinary user, in another directory: it sets itself up and grades."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.toolchain.interpreter import choose_interpreter

ROOT = Path(__file__).parents[2]
MOST_BYTES = 60_000_000
SOMEBODY = 61_234  # a uid that nobody has
PYTHON = choose_interpreter().executable  # one that every user may run; ours may lie in a private home
BROUGHT_BY_VENV = ("pip", "setuptools", "pkg_resources", "_distutils_hack")


class Place:
    """A directory of an ordinary user's, with an empty virtual environment in it."""

    def __init__(self, path: Path) -> None:
        self.path, self.elsewhere, self.venv = path, path / "elsewhere", path / "venv"
        self.elsewhere.mkdir()
        path.chmod(0o755)
        self.user = SOMEBODY if os.geteuid() == 0 else None
        if self.user is not None:
            for one in (path, self.elsewhere):
                os.chown(one, self.user, self.user)

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """As that user, elsewhere, with an environment that knows nothing of ours."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return subprocess.run(
            list(map(str, command)),
            cwd=self.elsewhere,
            env={"HOME": str(self.path), "PATH": "/usr/local/bin:/usr/bin:/bin", **kept},
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def rtl_agent(self, *arguments: str, code: int = 0) -> str:
        done = self.run(self.venv / "bin" / "rtl-agent", *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """With the wheel installed."""
    path = Path(tempfile.mkdtemp(prefix="rtl-agent-wheel-"))
    try:
        place = Place(path)
        checkout = path / "checkout"
        checkout.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, checkout)
        shutil.copytree(ROOT / "rtl_agent", checkout / "rtl_agent", ignore=shutil.ignore_patterns("__pycache__"))
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-qq", "--no-deps"]
        subprocess.run([*pip, "-w", path / "wheels", checkout], check=True, timeout=300)
        (wheel,) = (path / "wheels").glob("rtl_agent-*.whl")
        for command in (
            (PYTHON, "-m", "venv", place.venv),
            (place.venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-qq", wheel),
        ):
            done = place.run(*command)
            assert done.returncode == 0, done.stdout + done.stderr
        yield place
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.mark.slow
def test_the_core_is_small_and_has_no_torch(place: Place) -> None:
    (site,) = (place.venv / "lib").glob("python3.*/site-packages")
    files = [file for file in site.rglob("*") if file.is_file()]
    ours = [file for file in files if not file.relative_to(site).parts[0].startswith(BROUGHT_BY_VENV)]
    assert sum(file.stat().st_size for file in ours) < MOST_BYTES
    assert not (site / "torch").exists()
    assert not (site / "numpy").exists()


@pytest.mark.slow
def test_it_sets_itself_up_and_grades(place: Place) -> None:
    assert "18 problems" in place.rtl_agent("problems", "list")
    before = place.rtl_agent("doctor", "--json", code=1)
    assert not json.loads(before)["ok"]
    place.rtl_agent("setup")
    after = json.loads(place.rtl_agent("doctor", "--json"))
    assert after["ok"]
    assert not after["fallback"]
    (grade,) = json.loads(place.rtl_agent("grade", "bundled", "--id", "rtl_alu_0001", "--reference", "--json"))
    assert (grade["outcome"], grade["path"]) == ("passed", "fast")
    place.rtl_agent("problems", "new", "team_fifo_1")
    assert "1 trusted" in place.rtl_agent("problems", "validate", ".")
    assert sorted(path.name for path in place.elsewhere.iterdir()) == ["team_fifo_1"], "nothing else is written there"


@pytest.mark.slow
def test_what_needs_more_says_what_to_install(place: Place) -> None:
    done = place.run(place.venv / "bin" / "rtl-agent", "train", "rl")
    assert done.returncode == 2
    assert "pip install 'rtl-agent[train]'" in done.stderr


@pytest.mark.slow
def test_the_viewers_page_is_in_it_as_it_was_built(place: Place) -> None:
    """And neither tinker nor a tokenizer is needed to look at runs."""
    place.rtl_agent("view", ".", "--bundle", "../page")
    static = ROOT / "rtl_agent" / "view" / "static"
    for name in ("app.js", "app.css"):
        assert (place.path / "page" / name).read_bytes() == (static / name).read_bytes()

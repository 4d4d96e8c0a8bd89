"""Real frameworks for tests: each in an environment of its own, with this checkout and pinned versions of all the rest.

    inspect = environment("inspect")                      # `rtl-agent[inspect]` from this checkout; made once
    inspect.run("inspect", "eval", "rtl_agent/cvdp")      # one of its programs
    inspect.python("-c", "import inspect_ai")             # its Python

An environment lies in the virtual environment that runs the tests, in `share/frameworks/NAME`; `make clean` removes it.
It is brought up to date when what it is made of has changed: the extra, the lock file, the interpreter.

`python -m tests.integrations.environments NAME ...` makes environments by hand; with --lock it makes them without their
lock files, and writes those: names and versions of everything that was installed.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rtl_agent.toolchain.home import home

ROOT = Path(__file__).parents[2]
LOCKS = Path(__file__).parent / "locks"
PLACE = Path(sys.prefix) / "share" / "frameworks"
STAMP = "rtl-agent.json"
OLDEST = (3, 11)
SECONDS = 1800  # for a download of two gigabytes; and so that a busy machine ends no test


@dataclass(frozen=True)
class Recipe:
    """What an environment is made of: an extra of ours, what a test needs beside it, and the oldest Python for it."""

    extra: str
    more: tuple[str, ...] = ()
    python: tuple[int, int] = OLDEST


# By name. What is installed is in locks/NAME.txt: all of it, and nothing else. Two differ from what is asked for there:
# harbor 0.25.0 wants a certifi of the day after the newest, and nemo-gym 0.7.0 Python 3.13.14, and runs on 3.13.0.
RECIPES: dict[str, Recipe] = {
    "inspect": Recipe("inspect", more=("openai",)),
    "harbor": Recipe("harbor", python=(3, 12)),
    "nemo_gym": Recipe("nemo-gym", python=(3, 13)),
    "trl": Recipe("trl"),
    "verifiers": Recipe("verifiers"),
}


@dataclass(frozen=True)
class Environment:
    """One that is ready."""

    place: Path

    def run(
        self,
        program: str,
        *arguments: str | Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        exit_code: int | None = 0,
        seconds: float = SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """A program of this environment, started in `cwd`. It must end with `exit_code`; None: with any."""
        done = subprocess.run(
            [self.place / "bin" / program, *arguments],
            cwd=cwd,
            env=self.variables | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        said = f"{program} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert exit_code in (None, done.returncode), said
        return done

    def python(
        self, *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None, exit_code: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        """Its Python."""
        return self.run("python", *arguments, cwd=cwd, env=env, exit_code=exit_code)

    @property
    def variables(self) -> dict[str, str]:
        """What its programs run with: the tools of the environment that runs the tests, and nobody's keys."""
        kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
        path = f"{self.place / 'bin'}:{os.environ['PATH']}"
        return {**kept, "PATH": path, "RTL_AGENT_HOME": str(home()), "OMP_NUM_THREADS": "1"}


@cache
def environment(name: str) -> Environment:
    """The environment of this name, made or brought up to date where that is needed."""
    _bring_up_to_date(name, LOCKS / f"{name}.txt")
    return Environment(PLACE / name)


def _bring_up_to_date(name: str, lock: Path | None) -> None:
    recipe = RECIPES[name]
    interpreter = find_python(recipe.python)
    assert interpreter, f"there is no Python {_dotted(recipe.python)} or newer here: see docs/integrations/index.md"
    wanted = _contents(recipe, interpreter, lock)
    place = PLACE / name
    with _alone(name):
        if _read(place / STAMP) == wanted:
            return
        if (_read(place / STAMP) or {}).get("python") != wanted["python"]:
            shutil.rmtree(place, ignore_errors=True)
            _call([interpreter, "-m", "venv", place])
        (place / STAMP).unlink(missing_ok=True)
        pip = (place / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-qq")
        if lock:  # the lock file is complete, so nothing is left to resolve, which takes minutes
            _call([*pip, "--no-deps", "--ignore-requires-python", "-r", lock])
            _call([*pip, "--no-deps", "-e", ROOT])
        else:
            _call([*pip, *recipe.more, "-e", f"{ROOT}[{recipe.extra}]"])
        (place / STAMP).write_text(json.dumps(wanted))


def _contents(recipe: Recipe, interpreter: Path, lock: Path | None) -> dict[str, str]:
    """What the environment stands on; another extra of ours changes nothing here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = [project[part] for part in ("version", "dependencies", "scripts", "entry-points")]
    text = json.dumps([ours, project["optional-dependencies"][recipe.extra], recipe.more])
    digest = hashlib.sha256(text.encode() + (lock.read_bytes() if lock else b"")).hexdigest()
    return {"python": f"{interpreter} {_version(interpreter)}", "contents": digest}


def _read(file: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process makes an environment; the workers of pytest-xdist wait for it."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _call(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"


# interpreters


@cache
def find_python(oldest: tuple[int, int]) -> Path | None:
    """The oldest Python here that is new enough: ours, one on PATH, or one that pyenv or uv keeps."""
    if sys.version_info[:2] >= oldest:
        return Path(getattr(sys, "_base_executable", None) or sys.executable)
    known = sorted({path for path in _candidates() if (_version(path) or (0, 0)) >= oldest}, key=_sorted_by)
    return known[0] if known else None


def _candidates() -> Iterator[Path]:
    for minor in range(OLDEST[1], 20):
        if found := shutil.which(f"python3.{minor}"):
            yield Path(found)
    yield from Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python3")
    yield from Path("~/.local/share/uv/python").expanduser().glob("cpython-3.*/bin/python3")


@cache
def _version(python: Path) -> tuple[int, ...] | None:
    """None where it does not start, as pyenv's stand-ins for versions that are not chosen."""
    done = subprocess.run([python, "-VV"], capture_output=True, text=True, check=False)
    found = re.match(r"Python (\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found and done.returncode == 0 else None


def _sorted_by(python: Path) -> tuple[tuple[int, ...], str]:
    return _version(python) or (), str(python)


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.integrations.environments")
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(RECIPES))
    parser.add_argument("--lock", action="store_true", help="install the newest versions allowed, and write them down")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(RECIPES):
        parser.error(f"{', '.join(sorted(unknown))} is not among {', '.join(RECIPES)}")
    for name in chosen.names:
        lock = LOCKS / f"{name}.txt"
        _bring_up_to_date(name, None if chosen.lock or not lock.exists() else lock)
        if chosen.lock:
            freeze = [PLACE / name / "bin" / "python", "-m", "pip", "freeze", "--exclude-editable"]
            done = subprocess.run(freeze, capture_output=True, text=True, check=True)
            LOCKS.mkdir(exist_ok=True)
            lock.write_text(re.sub(r"\+[a-z0-9.]+$", "", done.stdout, flags=re.M))
        print(PLACE / name)


if __name__ == "__main__":
    main()

"""Runs sandbox code as somebody else: in a process of its own, and as an ordinary user."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

import rtl_agent

ORDINARY_UID = 47999  # nobody's, and outside the slots
SYSTEM_PYTHON = Path("/usr/bin/python3")


class Host(subprocess.Popen[str]):
    """A process whose input and output are pipes to us."""

    stdin: IO[str]
    stdout: IO[str]


Start = Callable[..., Host]


@pytest.fixture(scope="session")
def public_package() -> Iterator[Path]:
    """A copy of the sandbox room that every user can import: the checkout itself may be below a private directory."""
    place = Path(tempfile.mkdtemp(prefix="rtl-agent-public-"))
    source = Path(rtl_agent.__file__).parent
    target = place / "rtl_agent"
    target.mkdir()
    for name in ("__init__.py", "registry.py"):
        shutil.copy(source / name, target)
    shutil.copytree(source / "sandbox", target / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    yield place
    shutil.rmtree(place)


def _start_from(package: Path) -> Iterator[Start]:
    started: list[Host] = []

    def start(code: str, *, ordinary: bool = False) -> Host:
        uid = ORDINARY_UID if ordinary and os.geteuid() == 0 else None
        python = str(SYSTEM_PYTHON) if uid is not None and SYSTEM_PYTHON.exists() else sys.executable
        process = Host(
            [python, "-B", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PYTHONPATH": str(package), "PATH": os.environ["PATH"]},
            cwd="/",
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def start(public_package: Path) -> Iterator[Start]:
    """Start Python code in a process of its own, as root or as an ordinary user; ended after the test."""
    yield from _start_from(public_package)


@pytest.fixture(scope="module")
def start_in_module(public_package: Path) -> Iterator[Start]:
    yield from _start_from(public_package)

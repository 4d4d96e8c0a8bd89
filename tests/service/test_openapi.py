"""The real schemathesis finds no fault: every request that the schema allows, and every one that it forbids."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.served import KEY, Command

SEED = "20"


@pytest.fixture(scope="module", params=["its own problems", pytest.param("all", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    accepting = ["--accept-problems"] if request.param == "all" else []
    with Command("bundled", *accepting, cache=tmp_path_factory.mktemp("cache")) as running:
        yield running


def schemathesis(server: Command, folder: Path, examples: int, *more: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--checks", "all", "--max-examples", str(examples), "--seed", SEED, "--generation-database", "none"),
            *("--header", f"Authorization: Bearer {KEY}", "--no-color", "--request-timeout", "120", *more),
        ],
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": ""},
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_few_requests_of_every_kind(server: Command, tmp_path: Path) -> None:
    schemathesis(server, tmp_path, 5)


@pytest.mark.slow
def test_many_requests_of_every_kind(server: Command, tmp_path: Path) -> None:
    schemathesis(server, tmp_path, 150)

"""Small problems and a server with the embedded models, one for each test process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.backends.connect import Connection, connect
from rtl_agent.training.config import STUDENT
from tests.evaluation.gates import write_gates


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gates(tmp_path_factory.mktemp("gates") / "gates.jsonl")


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with connect("embedded", models=[STUDENT], state=tmp_path_factory.mktemp("state")) as connection:
        yield connection

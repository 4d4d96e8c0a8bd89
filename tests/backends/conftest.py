"""One embedded server for the tests of a worker; a tiny random model for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.backends.connect import Connection, connect
from tests.backends.tiny_model import write_tiny_model


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session")
def connection(tiny_model: str, state: Path) -> Iterator[Connection]:
    with connect("embedded", models=[tiny_model], state=state) as connection:
        yield connection

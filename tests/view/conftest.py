"""One browser for the tests of a module: while Playwright runs, no test of the same process may use asyncio."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from rtl_agent.bench.browser import open_browser
from tests.training.conftest import gates, server, taught
from tests.training.test_agentic_run import calling
from tests.view.trained import make_runs, once

__all__ = ["browser", "calling", "gates", "server", "taught"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs that real steps made."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    folder = shared / "viewed-runs"
    folder.mkdir(exist_ok=True)
    with once(shared / "viewed-runs.made") as first:
        if first:
            made = [request.getfixturevalue(name) for name in ("server", "gates", "taught", "calling")]
            make_runs(*made, folder)
    return folder

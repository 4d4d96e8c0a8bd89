"""One browser for the tests of a module: while Playwright runs, no test of the same process may use asyncio."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from rtl_agent.bench.browser import open_browser
from tests.training.conftest import gates, server, taught
from tests.training.test_agentic_run import calling
from tests.view.npm import install
from tests.view.trained import make_runs, once

__all__ = ["browser", "calling", "gates", "server", "taught"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def _shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this test run have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def viewer_source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's source, ready to be built."""
    folder = _shared(request, tmp_path_factory) / "viewer-source"
    with once(folder.with_suffix(".made")) as first:
        if first:
            install(folder)
    return folder


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs that real steps made."""
    folder = _shared(request, tmp_path_factory) / "viewed-runs"
    folder.mkdir(exist_ok=True)
    with once(folder.with_suffix(".made")) as first:
        if first:
            server, gates, taught, calling = map(request.getfixturevalue, ("server", "gates", "taught", "calling"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TINKER_API_KEY", server.api_key)
                make_runs(server, gates, taught, calling, folder)
    return folder

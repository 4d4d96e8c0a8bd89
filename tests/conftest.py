"""Shared by all tests: CVDP's data where it is at hand, the bundled set, and one grader for each worker."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import settings

from rtl_agent.grading import Grader, SimulationMode
from rtl_agent.problems import NearMiss, Problem, load_near_misses, load_problems
from tests.integrations.environments import find_python

CVDP = "RTL_AGENT_CVDP"
_ROOT = Path(__file__).parents[1]
# Before torch is imported: workers with a thread for each core spend most of their time waiting for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Hypothesis fails an example that takes 200 ms, which on a busy machine any may.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


@pytest.hookimpl(trylast=True)  # after those that -m leaves out are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without CVDP's data its tests are deselected, and that is said; a wrong folder makes them fail. So are tests that
    need a daemon of containers, where none can be started."""
    _begin_with_the_long_ones(items, getattr(config, "workerinput", {}).get("workercount", 1))
    if not os.environ.get(CVDP):
        _leave_out(config, items, "cvdp", f"tests over CVDP's data were left out: {CVDP} is not set")
    too_new = [one for one in items if (mark := one.get_closest_marker("python")) and find_python(mark.args) is None]
    if too_new:
        _drop(config, items, too_new, "tests of frameworks were left out: they need a newer Python than is here")
    unset = [item for item in items if any(not os.environ.get(mark.args[0]) for mark in item.iter_markers("checkout"))]
    if unset:
        _drop(config, items, unset, "tests over checkouts were left out: RTL_AGENT_VERILOG_EVAL, ... are not set")
    if reason := _no_containers():
        _leave_out(config, items, "containers", f"tests of sandboxes docker and podman were left out: {reason}")


def _no_containers() -> str:
    """Why no daemon can be started here; a machine without one has no use for these sandboxes either."""
    if os.geteuid() != 0:
        return "only root can start a daemon"
    missing = [program for program in ("dockerd", "podman", "runc") if shutil.which(program) is None]
    return f"{missing[0]} is not installed (`sh scripts/setup.sh --containers`)" if missing else ""


def _leave_out(config: pytest.Config, items: list[pytest.Item], mark: str, why: str) -> None:
    if marked := [item for item in items if item.get_closest_marker(mark)]:
        _drop(config, items, marked, why)


def _drop(config: pytest.Config, items: list[pytest.Item], dropped: list[pytest.Item], why: str) -> None:
    items[:] = [item for item in items if item not in dropped]
    config.hook.pytest_deselected(items=dropped)
    config.stash.setdefault(_LEFT_OUT, []).append(f"{len(dropped)} {why}")


def _begin_with_the_long_ones(items: list[pytest.Item], workers: int) -> None:
    """pytest-xdist gives each worker an equal part of all tests as they stand: long ones go to the heads of parts."""
    long = [item for item in items if item.get_closest_marker("long")]
    others = [item for item in items if not item.get_closest_marker("long")]
    ordered: list[pytest.Item] = []
    for at in range(workers):
        size = (len(items) - len(ordered)) // (workers - at)
        first = long[at::workers]
        rest = max(0, size - len(first))
        ordered += [*first, *others[:rest]]
        others = others[rest:]
    items[:] = [*ordered, *others]


_LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_LEFT_OUT, []):
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands keep grades: tests must neither find a user's nor leave any."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def no_stray_files() -> Iterator[None]:
    """What tests start works elsewhere: nothing new is in the checkout's root afterwards, caches aside."""
    before = set(_ROOT.iterdir())
    yield
    new = sorted(path.name for path in set(_ROOT.iterdir()) - before if not path.name.startswith("."))
    assert not new, f"left in {_ROOT}: {', '.join(new)}"


@pytest.fixture(scope="session")
def cvdp() -> Path:
    folder = Path(os.environ[CVDP])
    if not list(folder.glob("cvdp_*.jsonl")):
        pytest.fail(f"{CVDP}={folder} has no cvdp_*.jsonl files")
    return folder


@pytest.fixture(scope="session")
def bundled() -> dict[str, Problem]:
    return {problem.id: problem for problem in load_problems("bundled")}


@pytest.fixture(scope="session")
def near_misses() -> list[NearMiss]:
    return load_near_misses()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def graders() -> AsyncIterator[dict[SimulationMode, Grader]]:
    """One grader for each path, kept for the tests of a module that run in one loop; no longer: others count boxes."""
    async with Grader(jobs=2, path=SimulationMode.EXACT) as exact, Grader(jobs=2, path=SimulationMode.FAST) as fast:
        yield {SimulationMode.EXACT: exact, SimulationMode.FAST: fast}


@pytest.fixture
async def grader() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        yield grader

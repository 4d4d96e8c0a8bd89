"""One grader for a module's sessions, and a workshop of their own."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from rtl_agent.envs.agentic.session import AgenticSession
from rtl_agent.envs.agentic.workspace import Workshop
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.toolchain import find_toolchain
from tests.envs.agentic import turns

ARBITER = "rtl_fixed_priority_arbiter_0001"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grader() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        yield grader


@pytest.fixture(scope="module")
def where() -> Workshop:
    return Workshop(BubblewrapSandbox(4), find_toolchain())


@pytest.fixture
def arbiter(bundled: dict[str, Problem]) -> Problem:
    return bundled[ARBITER]


@pytest_asyncio.fixture(loop_scope="module")
async def begin(grader: Grader, where: Workshop, arbiter: Problem) -> AsyncIterator[Callable[..., AgenticSession]]:
    """Sessions by their rules; closed when the test is over."""
    sessions: list[AgenticSession] = []

    def session(
        problem: Problem = arbiter, clock: Callable[[], float] | None = None, **rules: object
    ) -> AgenticSession:
        options = {} if clock is None else {"clock": clock}
        sessions.append(turns.begun(problem, grader, where, turns.rules(**rules), **options))
        return sessions[-1]

    yield session
    for one in sessions:
        await one.close()

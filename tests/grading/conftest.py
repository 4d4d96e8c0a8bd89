"""One grader for all tests of a module that run in one loop: a warm box takes half a second of CPU to start."""

from collections.abc import AsyncIterator

import pytest_asyncio

from rtl_agent.grading import Grader


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grader() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        yield grader

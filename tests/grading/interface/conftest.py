"""A checker with the real pyslang in a real box."""

from collections.abc import AsyncIterator

import pytest

from rtl_agent.grading.interface import InterfaceChecker
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.toolchain import Toolchain, find_toolchain

FLAVOUR = "2.0.1"


@pytest.fixture(scope="session")
def tools() -> Toolchain:
    return find_toolchain()


@pytest.fixture
async def checker(tools: Toolchain) -> AsyncIterator[InterfaceChecker]:
    checker = InterfaceChecker(BubblewrapSandbox(1), tools.mounts(FLAVOUR), tools.harness(FLAVOUR).executable)
    yield checker
    await checker.aclose()

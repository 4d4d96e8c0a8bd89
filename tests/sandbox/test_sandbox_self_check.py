"""Every check of the conformance suite passes, for root and for an ordinary user."""

import os

import pytest

from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.sandbox.self_check import CHECKS, run_check

AS_USER = """
import asyncio, os, sys
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.sandbox.self_check import run_check
assert os.geteuid() != 0
result = asyncio.run(run_check(sys.argv[1], BubblewrapSandbox(slots=2)))
print(result.message)
sys.exit(not result.passed)
"""


@pytest.mark.parametrize("name", CHECKS)
async def test_here(name):
    result = await run_check(name, BubblewrapSandbox(slots=2))
    assert result.passed, f"{result.description}\n{result.message}"


@pytest.mark.parametrize("name", CHECKS if os.geteuid() == 0 else ())
def test_as_ordinary_user(name, start):
    process = start(AS_USER, ordinary=True, args=[name])
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said


def test_there_are_many_checks_and_each_says_what_it_checks():
    assert len(CHECKS) >= 40
    assert all(check.__doc__ for check in CHECKS.values())

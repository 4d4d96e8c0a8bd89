"""Every check of the conformance suite passes, for root and for an ordinary user."""

import json
import os

import pytest

from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.sandbox.checks import CHECKS, run_check
from tests.sandbox.conftest import Host, Start

AS_USER = """
import asyncio, json, os, sys
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.sandbox.checks import run_check
assert os.geteuid() != 0
sandbox = BubblewrapSandbox(slots=2)
for line in sys.stdin:
    result = asyncio.run(asyncio.wait_for(run_check(line.strip(), sandbox), 120))
    print(json.dumps([result.passed, result.message]), flush=True)
"""


@pytest.fixture(scope="module")
def ordinary_user(start_in_module: Start) -> Host:
    """One process for all checks: to import the package anew for each would take longer than most of them."""
    return start_in_module(AS_USER, ordinary=True)


@pytest.mark.parametrize("name", CHECKS)
async def test_here(name: str) -> None:
    result = await run_check(name, BubblewrapSandbox(slots=2))
    assert result.passed, f"{result.description}\n{result.message}"


@pytest.mark.parametrize("name", CHECKS if os.geteuid() == 0 else ())
def test_as_ordinary_user(name: str, ordinary_user: Host) -> None:
    ordinary_user.stdin.write(f"{name}\n")
    ordinary_user.stdin.flush()
    passed, message = json.loads(ordinary_user.stdout.readline() or json.dumps([False, "the process ended"]))
    assert passed, message


def test_there_are_many_checks_and_each_says_what_it_checks() -> None:
    assert len(CHECKS) >= 40
    assert all(check.__doc__ for check in CHECKS.values())

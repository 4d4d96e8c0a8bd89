"""The conformance suite: every Tinker-compatible server must pass every check, whatever it is made of."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from rtl_agent.backends.conformance.checks import checkpoints, faults, losses, sampling, training
from rtl_agent.backends.conformance.subject import Subject

Check = Callable[[Subject], Awaitable[None]]
PREFIX = "check_"
MOST_SECONDS = 300.0  # the SDK tries some failures for five minutes; a check that takes so long has failed


@dataclass(frozen=True)
class CheckResult:
    name: str
    description: str
    passed: bool
    message: str  # why not
    seconds: float


def _collect() -> dict[str, Check]:
    return {
        name.removeprefix(PREFIX): check
        for module in (training, losses, sampling, checkpoints, faults)
        for name, check in vars(module).items()
        if name.startswith(PREFIX)
    }


CHECKS: Mapping[str, Check] = _collect()


async def run_check(name: str, subject: Subject, most_seconds: float = MOST_SECONDS) -> CheckResult:
    check = CHECKS[name]
    start = time.monotonic()
    message = ""
    try:
        await asyncio.wait_for(check(subject), most_seconds)
    except TimeoutError:
        message = f"not finished after {most_seconds:.0f} s"
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    return CheckResult(name, inspect.getdoc(check) or name, not message, message, time.monotonic() - start)


async def run_self_check(subject: Subject, progress: Callable[[CheckResult], None] | None = None) -> list[CheckResult]:
    """Every check in turn."""
    results = []
    for name in CHECKS:
        results.append(await run_check(name, subject))
        if progress:
            progress(results[-1])
    return results

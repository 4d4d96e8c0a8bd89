"""The conformance suite: every sandbox must pass every check, whatever it is made of.

for result in await run_self_check(MySandbox(slots=2)):
    print(result.name, result.passed, result.message)
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from rtl_agent.sandbox.checks import boxes, commands, files, isolation, limits
from rtl_agent.sandbox.protocol import Sandbox

Check = Callable[[Sandbox], Awaitable[None]]
PREFIX = "check_"


@dataclass(frozen=True)
class CheckResult:
    """What one check found."""

    name: str
    description: str
    passed: bool
    message: str  # why not
    seconds: float
    impossible: str = ""  # why this sandbox cannot pass it, by its own word; it was not run

    @property
    def well(self) -> bool:
        return self.passed or bool(self.impossible)


def _collect() -> dict[str, Check]:
    return {
        name.removeprefix(PREFIX): check
        for module in (commands, files, limits, isolation, boxes)
        for name, check in vars(module).items()
        if name.startswith(PREFIX)
    }


CHECKS: Mapping[str, Check] = _collect()


def impossible_checks(sandbox: object) -> Mapping[str, str]:
    """Checks that a sandbox says it cannot pass -> why. None for those that have no `impossible`."""
    named: Mapping[str, str] = getattr(sandbox, "impossible", {})
    if unknown := named.keys() - CHECKS.keys():
        raise ValueError(f"there is no check {sorted(unknown)[0]!r}")
    return named


async def run_check(name: str, sandbox: Sandbox) -> CheckResult:
    """One check by its name in `CHECKS`."""
    check = CHECKS[name]
    description = inspect.getdoc(check) or name
    if reason := impossible_checks(sandbox).get(name):
        return CheckResult(name, description, False, reason, 0.0, impossible=reason)
    start = time.monotonic()
    message = ""
    try:
        await check(sandbox)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    return CheckResult(name, description, not message, message, time.monotonic() - start)


async def run_self_check(sandbox: Sandbox, progress: Callable[[CheckResult], None] | None = None) -> list[CheckResult]:
    """Every check in turn. `sandbox` needs at least two slots."""
    results = []
    for name in CHECKS:
        results.append(await run_check(name, sandbox))
        if progress:
            progress(results[-1])
    return results

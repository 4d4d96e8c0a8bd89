"""The tool `simulate`: compiles a bench of the model's own with the design, runs it, and says what failed first."""

import re

from rtl_agent.envs.agentic.config import CommandLimits
from rtl_agent.envs.agentic.lint import short_list
from rtl_agent.envs.agentic.observation import head_and_tail, how_it_ended, plain_text
from rtl_agent.envs.agentic.sources import design_sources
from rtl_agent.envs.agentic.workspace import RUNDIR, Workspace
from rtl_agent.grading.diagnostics import icarus_diagnostics
from rtl_agent.sandbox import CommandResult

BINARY = "/tmp/simulate.vvp"  # not in the workspace: nothing of the tool's own is left there
_FAILURE = re.compile(r"\b(?:error|fail(?:ed|ure|s)?|fatal|mismatch(?:es)?|assert(?:ion)?|wrong|unexpected)\b", re.I)
_NO_FAILURE = re.compile(
    r"\b(?:no|0|zero|without)\s+(?:\w+\s+)?(?:errors?|fail\w*|mismatch\w*)\b"
    r"|\b(?:errors?|fail\w*|mismatch\w*)\s*[:=]?\s*0\b",
    re.I,
)
_EXCEPTION = re.compile(r"(?:^|\s)[A-Z]\w*(?:Error|Exception|Failure|Failed): ")  # Python's last line of a traceback
PYTEST = "pytest"
_AROUND = 2  # lines before the first failure


async def simulate(workspace: Workspace, bench: str, limits: CommandLimits, seconds: float) -> str:
    """`bench` is an absolute path in the workspace: Verilog for Icarus, or Python for pytest."""
    if bench.endswith(".py"):
        ran = await workspace.run(["pytest", "-x", "-q", "-p", "no:cacheprovider", bench], cwd=RUNDIR, seconds=seconds)
        return _report(ran, limits, PYTEST)
    sources = [path for path in await design_sources(workspace, seconds) if path != bench]
    built = await workspace.run(["iverilog", "-g2012", "-o", BINARY, *sources, bench], cwd=RUNDIR, seconds=seconds)
    if not built.ok:
        said = plain_text(built.stdout)
        lines = short_list(icarus_diagnostics(said)) if icarus_diagnostics(said) else [said[:2000]]
        return "\n".join((f"It does not compile [{_ended(built, limits)}].", *lines))
    return _report(await workspace.run(["vvp", "-n", BINARY], cwd=RUNDIR, seconds=seconds), limits, "the simulation")


def _report(ran: CommandResult, limits: CommandLimits, what: str) -> str:
    text = plain_text(ran.stdout)
    lines = text.splitlines()
    raised = (at for at, line in enumerate(lines) if _EXCEPTION.search(line))
    failed = (at for at, line in enumerate(lines) if _is_failure(line))
    first = next(raised, None) if what == PYTEST else None
    first = next(failed, None) if first is None else first
    verdict = f"{what}: {_ended(ran, limits)}"
    if first is None:
        said = f"{verdict}; no line speaks of a failure"
    else:
        shown = "\n".join(lines[max(0, first - _AROUND) : first + 1])
        said = f"{verdict}; the first failure, in line {first + 1}:\n{shown}"
    output = head_and_tail(text, limits.shown_characters // 4, lost=ran.truncated)
    return f"{said}\nOutput:\n{output}" if output else f"{said}\nIt printed nothing."


def _is_failure(line: str) -> bool:
    return bool(_FAILURE.search(line)) and not _NO_FAILURE.search(line)


def _ended(ran: CommandResult, limits: CommandLimits) -> str:
    return how_it_ended(ran, limits.wall_seconds, limits.output_bytes)

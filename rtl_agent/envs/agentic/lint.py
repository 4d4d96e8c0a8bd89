"""The tool `lint`: what Icarus and Verilator say of the design, the most telling first, in few lines."""

import re
from collections.abc import Sequence

from rtl_agent.envs.agentic.config import CommandLimits
from rtl_agent.envs.agentic.observation import how_it_ended, plain_text
from rtl_agent.envs.agentic.sources import design_sources
from rtl_agent.envs.agentic.workspace import RUNDIR, Workspace
from rtl_agent.grading import Diagnostic
from rtl_agent.grading.diagnostics import icarus_diagnostics, verilator_diagnostics
from rtl_agent.sandbox import CommandResult, Ended

MOST_LINES = 15
_STYLE = ("DECLFILENAME", "UNUSED", "EOFNEWLINE", "TIMESCALEMOD", "VARHIDDEN", "PINCONNECTEMPTY", "GENUNNAMED")
# Warnings that mostly are faults of the design.
_TELLING = ("LATCH", "MULTIDRIVEN", "UNDRIVEN", "UNOPTFLAT", "CASEINCOMPLETE", "CASEOVERLAP", "BLKSEQ", "COMBDLY",
            "BLKANDNBLK", "WIDTHTRUNC", "SELRANGE", "PINMISSING", "IMPLICIT", "ALWCOMBORDER", "INITIALDLY")  # fmt: skip
_CODE = re.compile(r"\[([A-Z0-9_]+)\]$")


async def lint(workspace: Workspace, files: Sequence[str], limits: CommandLimits, seconds: float) -> str:
    """Every file of rtl/, or those that are named."""
    sources = list(files) or await design_sources(workspace, seconds)
    if not sources:
        return "There is nothing to lint: rtl/ has no .sv or .v file."
    compiled = await workspace.run(["iverilog", "-g2012", "-Wall", "-t", "null", *sources], cwd=RUNDIR, seconds=seconds)
    linted = await workspace.run(
        ["verilator", "--lint-only", "-Wall", "-Wno-fatal", "-Wno-MULTITOP", *sources], cwd=RUNDIR, seconds=seconds
    )
    said = plain_text(compiled.stdout)
    found = [*icarus_diagnostics(said), *verilator_diagnostics(plain_text(linted.stdout))]
    if compiled.ended is not Ended.EXITED:
        verdict = _stopped("iverilog", compiled, limits)
    else:
        verdict = "It compiles." if compiled.ok else "It does not compile."
    if not compiled.ok and not found:
        return f"{verdict}\n{said[:2000]}".rstrip()
    if linted.ended is not Ended.EXITED:  # what it did not come to say is not "no warnings"
        unheard = _stopped("verilator", linted, limits)
        return "\n".join((verdict, *(short_list(found) if found else ()), unheard))
    return "\n".join((verdict, *short_list(found)))


def _stopped(tool: str, ran: CommandResult, limits: CommandLimits) -> str:
    return f"[{tool} {how_it_ended(ran, limits.wall_seconds, limits.output_bytes)}]"


def short_list(found: Sequence[Diagnostic], most: int = MOST_LINES) -> list[str]:
    """Errors, faults, other warnings, style; each place once, however many tools name it."""
    ranked = sorted(found, key=lambda one: (_rank(one), one.file, one.line, one.column, one.tool != "verilator"))
    lines: dict[tuple[str, int, int], str] = {}
    for one in ranked:
        line = f"{one.file}:{one.line}: {one.severity}: {one.text}"
        lines.setdefault((one.file, one.line, _rank(one)), line)
    shown = list(lines.values())[:most]
    if left := len(lines) - len(shown):
        shown.append(f"... and {left} more")
    return shown or ["No warnings."]


def _rank(one: Diagnostic) -> int:
    code = found[1] if (found := _CODE.search(one.text)) else ""
    if one.severity == "error":
        return 0
    if code.startswith(_STYLE):
        return 3
    return 1 if code.startswith(_TELLING) else 2

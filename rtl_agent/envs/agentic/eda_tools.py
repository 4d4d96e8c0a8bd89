"""The tools `lint` and `simulate`: what Icarus, Verilator and a test bench say of the design, in few lines."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from rtl_agent.envs.agentic.observation import head_and_tail, how_it_ended, plain_text
from rtl_agent.envs.agentic.workspace import CODE, RUNDIR, Workspace
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.grading import Diagnostic
from rtl_agent.grading.diagnostics import icarus_diagnostics, verilator_diagnostics
from rtl_agent.sandbox import CommandResult, Ended

_MOST_FILES = 200
_DESIGN = (".sv", ".v")


class WrongArgument(ValueError):
    """A call that cannot be run; the text is for the model."""


def path_in_workspace(name: str) -> str:
    """The absolute path: no tool that it is handed to can take it for an option."""
    if not name or "\0" in name or len(name) > 500:
        raise WrongArgument("a file's path is missing or is not a path")
    path = PurePosixPath(CODE) / name
    if ".." in path.parts or not path.is_relative_to(CODE):
        raise WrongArgument(f"{name!r} is not a path below {CODE}")
    return str(path)


async def design_sources(workspace: Workspace, seconds: float) -> list[str]:
    """The design files in rtl/, packages first, as later files use them."""
    names = [part for suffix in _DESIGN for part in ("-o", "-name", f"*{suffix}")][1:]
    argv = ["find", f"{CODE}/rtl", "-type", "f", "(", *names, ")", "-print0"]
    found = (await workspace.run(argv, seconds=seconds)).stdout.decode(errors="replace").split("\0")
    sources = sorted(path for path in found if path.startswith(f"{CODE}/rtl/") and path.endswith(_DESIGN))
    return sorted(sources, key=lambda path: not PurePosixPath(path).stem.endswith(("pkg", "package")))[:_MOST_FILES]


# lint

MOST_LINES = 15
_STYLE = ("DECLFILENAME", "UNUSED", "EOFNEWLINE", "TIMESCALEMOD", "VARHIDDEN", "PINCONNECTEMPTY", "GENUNNAMED")
# Warnings that mostly are faults of the design.
_TELLING = ("LATCH", "MULTIDRIVEN", "UNDRIVEN", "UNOPTFLAT", "CASEINCOMPLETE", "CASEOVERLAP", "BLKSEQ", "COMBDLY",
            "BLKANDNBLK", "WIDTHTRUNC", "SELRANGE", "PINMISSING", "IMPLICIT", "ALWCOMBORDER", "INITIALDLY")  # fmt: skip
_CODE = re.compile(r"\[([A-Z0-9_]+)\]$")


async def lint(workspace: Workspace, files: Sequence[str], config: EpisodeConfig, seconds: float) -> str:
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
        verdict = _stopped("iverilog", compiled, config)
    else:
        verdict = "It compiles." if compiled.ok else "It does not compile."
    if not compiled.ok and not found:
        return f"{verdict}\n{said[:2000]}".rstrip()
    if linted.ended is not Ended.EXITED:  # what it did not come to say is not "no warnings"
        unheard = _stopped("verilator", linted, config)
        return "\n".join((verdict, *(short_list(found) if found else ()), unheard))
    return "\n".join((verdict, *short_list(found)))


def _stopped(tool: str, ran: CommandResult, config: EpisodeConfig) -> str:
    return f"[{tool} {how_it_ended(ran, config.command_seconds, config.output_bytes)}]"


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


# simulate

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


async def simulate(workspace: Workspace, bench: str, config: EpisodeConfig, seconds: float) -> str:
    """`bench` is an absolute path in the workspace: Verilog for Icarus, or Python for pytest."""
    if bench.endswith(".py"):
        ran = await workspace.run(["pytest", "-x", "-q", "-p", "no:cacheprovider", bench], cwd=RUNDIR, seconds=seconds)
        return _report(ran, config, PYTEST)
    sources = [path for path in await design_sources(workspace, seconds) if path != bench]
    built = await workspace.run(["iverilog", "-g2012", "-o", BINARY, *sources, bench], cwd=RUNDIR, seconds=seconds)
    if not built.ok:
        said = plain_text(built.stdout)
        lines = short_list(icarus_diagnostics(said)) if icarus_diagnostics(said) else [said[:2000]]
        return "\n".join((f"It does not compile [{_ended(built, config)}].", *lines))
    return _report(await workspace.run(["vvp", "-n", BINARY], cwd=RUNDIR, seconds=seconds), config, "the simulation")


def _report(ran: CommandResult, config: EpisodeConfig, what: str) -> str:
    text = plain_text(ran.stdout)
    lines = text.splitlines()
    raised = (at for at, line in enumerate(lines) if _EXCEPTION.search(line))
    failed = (at for at, line in enumerate(lines) if _is_failure(line))
    first = next(raised, None) if what == PYTEST else None
    first = next(failed, None) if first is None else first
    verdict = f"{what}: {_ended(ran, config)}"
    if first is None:
        said = f"{verdict}; no line speaks of a failure"
    else:
        shown = "\n".join(lines[max(0, first - _AROUND) : first + 1])
        said = f"{verdict}; the first failure, in line {first + 1}:\n{shown}"
    output = head_and_tail(text, config.shown_characters // 4, lost=ran.truncated)
    return f"{said}\nOutput:\n{output}" if output else f"{said}\nIt printed nothing."


def _is_failure(line: str) -> bool:
    return bool(_FAILURE.search(line)) and not _NO_FAILURE.search(line)


def _ended(ran: CommandResult, config: EpisodeConfig) -> str:
    return how_it_ended(ran, config.command_seconds, config.output_bytes)

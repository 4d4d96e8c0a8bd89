"""What hides a design from a linter or a synthesiser fails the service, unless the given files had it.

CVDP's lint and synthesis services take such text: a waiver in a comment passes the lint that was asked for. A verdict
is stricter than CVDP's here, and only here. Whether a linter reads what the simulator reads is asked of both tools
(same_text.py), and so is whether it elaborates the same (same_branches.py); whether a synthesiser builds what was
simulated is asked of the tests themselves (netlist.py). What is left to text are calls out of Verilog: Yosys runs
imported C functions while it elaborates, and those can do anything.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from rtl_agent.grading.channel import open_channel
from rtl_agent.grading.harness_python import named_text, simulates
from rtl_agent.grading.same_branches import elaborated_differences
from rtl_agent.grading.same_text import Reading, differences, read_twice
from rtl_agent.grading.services import ServiceRun
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import design_files
from rtl_agent.grading.verdict import ServiceVerdict
from rtl_agent.grading.verilog_tokens import Kind, tokens
from rtl_agent.grading.workspace import open_workspace, service_env, write_targets
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain

_CALLS = {'"DPI"', '"DPI-C"', "$system"}
_HDL = (".sv", ".v", ".svh", ".vh")
_ASKS = {"`ifdef", "`ifndef", "`elsif"}
_MOST_TOLD = 8  # sets of macros that builds were given; no problem of CVDP's development part has more than one


class HidingCheck:
    """Looks once more at what lint and synthesis services have passed."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain) -> None:
        self._sandbox, self._toolchain = sandbox, toolchain

    async def look(self, problem: Problem, submission: Submission, runs: Sequence[ServiceRun]) -> list[ServiceRun]:
        """The runs, those that passed by hiding something failed. Nothing is read where a service has failed anyway."""
        judged = list(runs)
        told = told_simulators(runs, given_macros(problem))
        for index, service in enumerate(problem.harness.services):
            if not runs[index].verdict.passed or simulates(problem, service):
                continue
            text = " ".join(service.argv) + "\n" + named_text(problem, service)
            hidden: list[str] = []
            if re.search(r"\b(?:verilator|yosys)\b", text):
                hidden += calls_out(problem, submission)
            if re.search(r"\bverilator\b", text) and not hidden:
                for words in told:
                    hidden += await self._from_linter(problem, service, submission, words) if not hidden else []
            if hidden:
                judged[index] = replace(judged[index], verdict=_failed(judged[index].verdict, hidden))
        return judged

    async def _from_linter(
        self, problem: Problem, service: Service, submission: Submission, told: Sequence[str]
    ) -> list[str]:
        sources = service.env.get("VERILOG_SOURCES", "").split() or design_files(problem, submission)
        found = await self._read(problem, service, submission.files, sources, told)
        if isinstance(found, str):
            return [f"the design {found}"]
        simulator, linter = found
        known = [*sources, *problem.context, *submission.files]
        hidden = differences(simulator, linter, known, None)
        branches = [] if hidden else await self._branches(simulator.text, service)
        if not hidden and not branches:
            return []
        given = {path: problem.context[path] for path in problem.targets if path in problem.context}
        before = await self._read(problem, service, given, sources, told) if given else ""
        if isinstance(before, str):
            return differences(simulator, linter, known, None) or branches
        if branches:
            allowed = await self._branches(before[0].text, service)
            return [one for one in branches if one not in allowed]
        return differences(simulator, linter, known, before)

    async def _branches(self, text: str, service: Service) -> list[str]:
        return await elaborated_differences(self._sandbox, self._toolchain, text, service.env.get("TOPLEVEL", ""))

    async def _read(
        self,
        problem: Problem,
        service: Service,
        files: Mapping[str, str],
        sources: Sequence[str],
        told: Sequence[str],
    ) -> tuple[Reading, Reading] | str:
        with open_channel() as channel:
            async with open_workspace(self._sandbox, self._toolchain, problem, service, channel) as box:
                await write_targets(box, files)
                env = service_env(self._toolchain, problem, service, channel, 0)
                return await read_twice(box, sources, env, told)


def told_simulators(runs: Iterable[ServiceRun], known: frozenset[str]) -> list[tuple[str, ...]]:
    """What the simulator's builds were told, each set once, without the macros that given files ask for."""
    sets = [words for run in runs for words in run.verdict.told]
    own = [tuple(word for word in words if word[2:].partition("=")[0] not in known) for words in sets]
    return list(dict.fromkeys(own))[:_MOST_TOLD] or [()]


def given_macros(problem: Problem) -> frozenset[str]:
    """Macros that the code of given files asks for: there a harness may mean one tool to read another branch."""
    found: set[str] = set()
    for path, text in problem.context.items():
        stream = [token for token in tokens(text) if token.kind is not Kind.COMMENT] if path.endswith(_HDL) else []
        found |= {token.text[1:] for token in stream if token.kind is Kind.DIRECTIVE}
        found |= {name.text for asks, name in pairwise(stream) if asks.text in _ASKS}
    return frozenset(found)


def calls_out(problem: Problem, submission: Submission) -> list[str]:
    """Calls of C functions and commands in the code of the files, comments left out, that the given ones have not."""
    given = {token.text for path, text in problem.context.items() if path.endswith(_HDL) for token in tokens(text)}
    own = {token.text for text in submission.files.values() for token in tokens(text.replace("\r", "\n"))}
    return [f"`{call}` calls what is not Verilog" for call in sorted((own & _CALLS) - given)]


def _failed(verdict: ServiceVerdict, hidden: Sequence[str]) -> ServiceVerdict:
    reasons = tuple(f"something is hidden from a tool that judges the design: {one}" for one in hidden)
    return replace(verdict, passed=False, score=min(verdict.score, 0.999), reasons=(*reasons, *verdict.reasons))

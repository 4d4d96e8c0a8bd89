"""Does a linter read what the simulator reads? Both preprocessors are asked, and what they make of a design compared.

Macros that one tool predefines, lines counted differently, comments that one takes for code, names of files that a
linter waives: whatever hides something from one of them shows as a difference here, without a list of tricks. Waivers,
which a linter keeps in its output as comments and directives, are allowed where the given files had them.
"""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rtl_agent.grading.verilog_tokens import Kind, Token, strings, tokens
from rtl_agent.sandbox import MIB, Box, Limits

_LIMITS = Limits(wall_seconds=30, cpu_seconds=20)
_MOST = 8 * MIB  # of preprocessed text; the largest file of CVDP's development part has 0.1
_WORKING = "/tmp/rtl-agent-reading"
# Both tools obey these alike. `celldefine is not among them: Verilator drops a library cell that nobody instantiates.
_ALIKE = {"`timescale", "`default_nettype", "`resetall", "`unconnected_drive", "`nounconnected_drive"}
_KEYWORDS = {"`begin_keywords", "`end_keywords"}
_CALLS_OUT = {"$c", "$c1", "$c8", "$c16", "$c32", "$c64", "$c128", "$cpure", "$system"}
_DUMPS = {"$dumpfile", "$dumpvars", "$dumpon", "$dumpall", "$dumpflush"}
_NAME_OR_NUMBER = re.compile(r"[(),.]|\w+|\"[^\"`]*\"", re.ASCII)
_MOST_OF_A_DUMP = 64  # tokens of a statement


@dataclass(frozen=True)
class Reading:
    """What one preprocessor made of the files."""

    code: tuple[str, ...]  # tokens, without line markers
    comments: tuple[str, ...]
    files: frozenset[str]  # that its line markers name
    text: str = field(default="", repr=False, compare=False)


async def read_twice(
    box: Box, sources: Sequence[str], env: Mapping[str, str], told: Sequence[str] = ()
) -> tuple[Reading, Reading] | str:
    """(the simulator's, the linter's) reading of files in a box; a sentence where one cannot read them.

    `told` is what the harness tells the simulator's compiler: -D for macros, which are for it alone, and -I.
    """
    simulator, linter = f"{_WORKING}/simulator.v", f"{_WORKING}/linter.v"
    between = f"{_WORKING}/newline.v"  # with -E alone, Icarus glues a file to the last line of the one before
    apart = [part for path in sources for part in (path, between)]
    # cocotb 1.9's runner defines COCOTB_SIM, and no linter does: what depends on it differs.
    simulators = shlex.join(dict.fromkeys(("-DCOCOTB_SIM=1", *told)))
    shared = shlex.join(word for word in told if word.startswith("-I"))
    command = (
        f"mkdir -p {_WORKING} && echo > {between}"
        f" && iverilog -g2012 {simulators} -E -o {simulator} {shlex.join(apart)}"
        f" && verilator -E -Wno-fatal {shared} {shlex.join(sources)} > {linter}"
    )
    done = await box.run(["sh", "-c", command], env=env, cwd="/code/rundir", limits=_LIMITS)
    if not done.ok:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        return f"cannot be preprocessed again: {said[:300] or done.ended}"
    try:
        texts = [(await box.read(path, max_bytes=_MOST)).decode(errors="replace") for path in (simulator, linter)]
    except ValueError:
        return f"is more than {_MOST // MIB} MiB when its macros are expanded"
    return reading(texts[0]), reading(texts[1])


def reading(text: str) -> Reading:
    code: list[str] = []
    comments: list[str] = []
    files: set[str] = set()
    stream = [token for token in tokens(text)]
    at = 0
    while at < len(stream):
        token = stream[at]
        if _is_marker(stream, at):
            files.add(strings(stream[at + 2]))
            at += 4
            continue
        if token.kind is Kind.COMMENT:
            comments.append(" ".join(token.text.split()))
        else:
            code.append(token.text)
        at += 1
    return Reading(tuple(code), tuple(comments), frozenset(files), text)


def _is_marker(stream: Sequence[Token], at: int) -> bool:
    following = stream[at + 1 : at + 4]
    if stream[at].text != "`line" or len(following) < 3:
        return False
    return following[0].text.isdigit() and following[1].kind is Kind.STRING and following[2].text.isdigit()


def differences(
    simulator: Reading, linter: Reading, known: Sequence[str], given: tuple[Reading, Reading] | None
) -> list[str]:
    """What a linter was told that the simulator was not, in sentences. `given` are the readings of the given files."""
    nothing = Reading((), (), frozenset())
    given_simulator, given_linter = given or (nothing, nothing)
    found: list[str] = []
    if simulator.code != linter.code:
        ours, theirs = without_dumps(simulator.code), without_dumps(linter.code)
        found += [_first_difference(ours, theirs)] if ours != theirs else []
    comments = Counter(linter.comments) - Counter(given_linter.comments)
    found += [f"`{_cut(comment)}` tells the linter to look away" for comment in comments]
    directives = Counter(_directives(linter.code)) - Counter(_directives(given_linter.code))
    found += [f"{name} makes the linter read on differently" for name in directives]
    # Icarus writes no line markers of its own: each of them is a `line of the design.
    names = {PurePosixPath(path).name for path in known}
    renamed = {name for name in linter.files - given_linter.files if PurePosixPath(name).name not in names}
    found += [f"`line names {_cut(name)}" for name in sorted(renamed | simulator.files - given_simulator.files)]
    calls = Counter(filter(_calls_out, linter.code)) - Counter(filter(_calls_out, given_linter.code))
    return found + [f"`{call}` calls what is not Verilog" for call in calls]


def without_dumps(code: Sequence[str]) -> list[str]:
    """Without processes that do nothing but dump waves: cocotb's own examples have one for the simulator alone.

    They read nothing but names and numbers, and drive nothing: there is nothing to hide in them.
    """
    kept: list[str] = []
    at = 0
    while at < len(code):
        end = _end_of_dump(code, at) if code[at] == "initial" else at
        kept += [] if end > at else [code[at]]
        at = max(end, at + 1)
    return kept


def _end_of_dump(code: Sequence[str], start: int) -> int:
    """Behind a process that only dumps; `start` where it is another one."""
    at = start + 1
    is_block = code[at : at + 1] == ("begin",)
    if is_block:
        at += 3 if code[at + 1 : at + 2] == (":",) else 1
    statements = 0
    while at < len(code) and code[at] in _DUMPS:
        end = next((i for i in range(at, min(at + _MOST_OF_A_DUMP, len(code))) if code[i] == ";"), -1)
        if end < 0 or not all(_NAME_OR_NUMBER.fullmatch(word) for word in code[at + 1 : end]):
            return start
        at, statements = end + 1, statements + 1
        if not is_block:
            return at
    if not is_block or not statements or code[at : at + 1] != ("end",):
        return start
    return at + (3 if code[at + 1 : at + 2] == (":",) else 1)


def _directives(code: Sequence[str]) -> list[str]:
    """Directives that are left when macros are expanded, and are no common ground of the tools."""
    found = []
    for name, value in zip(code, (*code[1:], ""), strict=False):
        common = name in _ALIKE or (name in _KEYWORDS and (name == "`end_keywords" or value.startswith('"1800')))
        if name.startswith("`") and len(name) > 1 and not common:
            found.append(name)
    return found


def _calls_out(token: str) -> bool:
    return token in _CALLS_OUT or token in ('"DPI"', '"DPI-C"')


def _first_difference(simulator: Sequence[str], linter: Sequence[str]) -> str:
    at = next((i for i, (a, b) in enumerate(zip(simulator, linter, strict=False)) if a != b), None)
    if at is None:
        at = min(len(simulator), len(linter))
    before = " ".join(simulator[max(0, at - 4) : at]) or "the beginning"
    ours, theirs = (" ".join(code[at : at + 4]) or "nothing" for code in (simulator, linter))
    has = f"it has `{_cut(theirs)}`, the simulator `{_cut(ours)}`"
    return f"the linter reads another design: after `{_cut(before)}` {has}"


def _cut(words: str) -> str:
    return words if len(words) <= 80 else words[:77] + "..."

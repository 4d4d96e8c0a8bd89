"""How a design differs from the reference, as the grader reads both: interface by interface, reset by reset.

Designs are hostile text: they are parsed by the grader's own checker in its sandbox. A machine that cannot grade
compares nothing, and the report says what the grader said at the time.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import PurePosixPath

from rtl_agent.grading.interface import (
    ActualInterface,
    ExpectedInterface,
    ExpectedPort,
    InterfaceChecker,
    compare,
)
from rtl_agent.grading.verilog_tokens import Kind, tokens
from rtl_agent.problems import CocotbVersion
from rtl_agent.sandbox import SandboxError, make_sandbox
from rtl_agent.toolchain import ToolMissing, find_toolchain

_COCOTB = CocotbVersion.V2  # the environment that has pyslang
_MOST_LETTERS = 100_000
_RESET_NAMES = ("rst", "reset", "clr", "clear", "flush")

Files = Mapping[str, str]


def differences_to_references(pairs: Sequence[tuple[Files, Files]]) -> list[tuple[str, ...] | None]:
    """Of each (reference, answer) what differs, in words; None where one of both could not be read whole."""
    try:
        return asyncio.run(_compare_all(pairs)) if pairs else []
    except (SandboxError, ToolMissing, OSError):
        return [None] * len(pairs)


async def _compare_all(pairs: Sequence[tuple[Files, Files]]) -> list[tuple[str, ...] | None]:
    tools = find_toolchain()
    checker = InterfaceChecker(make_sandbox(1), tools.mounts(_COCOTB), tools.harness(_COCOTB).executable)
    try:
        return [await _compare(checker, reference, answer) for reference, answer in pairs]
    finally:
        await checker.aclose()


async def _compare(checker: InterfaceChecker, reference: Files, answer: Files) -> tuple[str, ...] | None:
    asked = await _read(checker, reference)
    written = await _read(checker, answer, asked.top) if asked else None
    if asked is None or written is None:
        return None
    found = [*interface_differences(asked, written)]
    if reset := reset_difference("\n".join(reference.values()), "\n".join(answer.values())):
        found.append(reset)
    known = all(port.width for port in (*asked.ports, *written.ports))
    return tuple(found) if found or known else None


async def _read(checker: InterfaceChecker, files: Files, top: str = "") -> ActualInterface | None:
    """The module `top`; else the only one, or the one that a file is named after: its ports may be right."""
    found = (await checker.read(files, top)).interface
    if found is not None and not found.found:
        stems = {PurePosixPath(path).stem for path in files}
        tops = found.modules if len(found.modules) == 1 else [name for name in found.modules if name in stems]
        found = (await checker.read(files, tops[0])).interface if len(tops) == 1 else None
    return found if found is not None and found.found else None


def interface_differences(asked: ActualInterface, written: ActualInterface) -> Iterator[str]:
    """The grader's comparison, with the reference's interface for what a harness needs; then what is too much."""
    if written.top != asked.top:
        yield f"module is named `{written.top}`, `{asked.top}` expected"
    ports = [
        ExpectedPort(port.name, "input" if port.direction == "input" else "output", port.width or None)
        for port in asked.ports
        if port.direction in ("input", "output")
    ]
    parameters = tuple(parameter.name for parameter in asked.parameters if not parameter.local)
    # A harness can read a signal inside the design by the name of a port; beside the reference that is a missing port.
    outside = replace(written, internal=frozenset())
    said = compare(ExpectedInterface(asked.top, tuple(ports), parameters), outside).differences
    yield from said
    known = {port.name for port in asked.ports}
    for port in written.ports:
        if port.name not in known and not any(f"you wrote `{port.name}`" in text for text in said):
            yield f"{port.direction} `{port.name}` is not in the specification"


@dataclass(frozen=True)
class Reset:
    name: str
    asynchronous: bool
    active_low: bool

    def __str__(self) -> str:
        kind = "asynchronous" if self.asynchronous else "synchronous"
        return f"{kind}, active {'low' if self.active_low else 'high'}"


def reset_difference(reference: str, answer: str) -> str | None:
    """Another name alone is the ports' matter."""
    asked = read_reset(reference)
    written = read_reset(answer, asked.name) if asked else None
    if asked is None or written is None or str(asked) == str(written):
        return None
    name = "" if asked.name == written.name else f"`{asked.name}`, "
    return f"reset `{written.name}` is {written}; expected {name}{asked}"


def read_reset(text: str, known_name: str = "") -> Reset | None:
    """None where there is none, or several that differ, or it is not the first thing that a clocked block asks.

    Without an edge of its own it is told from an enable by its name: `known_name`, or one that resets have.
    """
    if len(text) > _MOST_LETTERS:
        return None
    words = [token.text for token in tokens(text) if token.kind is not Kind.COMMENT]
    starts = (at for at, word in enumerate(words) if word in ("always", "always_ff"))
    found = {reset for at in starts if (reset := _of_block(words[at + 1 : at + 60], known_name))}
    return found.pop() if len(found) == 1 else None


def _of_block(words: list[str], known_name: str) -> Reset | None:
    """`@ ( posedge clk or negedge rst_n ) begin if ( ! rst_n )`"""
    if words[:2] != ["@", "("]:
        return None
    events = list(takewhile(lambda word: word != ")", words[2:]))
    edges = {name: edge for edge, name in pairwise(events) if edge in ("posedge", "negedge")}
    rest = words[3 + len(events) :]
    if rest[:1] == ["begin"]:
        rest = rest[3:] if rest[1:2] == [":"] else rest[1:]
    if not edges or rest[:2] != ["if", "("]:
        return None
    condition = list(takewhile(lambda word: word != ")", rest[2:]))
    name, low = _tested(condition)
    if name in edges and len(edges) > 1:
        # An edge and a level that contradict each other are no reset that can be named.
        return Reset(name, True, low) if (edges[name] == "negedge") == low else None
    if name and name not in edges and (name == known_name or any(part in name.lower() for part in _RESET_NAMES)):
        return Reset(name, False, low)
    return None


def _tested(condition: list[str]) -> tuple[str, bool]:
    """The signal that a condition asks, and whether it is for a low level; no name for anything else."""
    if len(condition) == 2 and condition[0] in ("!", "~"):
        return condition[1], True
    if len(condition) == 1:
        return condition[0], False
    name, operator, value = condition[0] if condition else "", "", ""
    for word in condition[1:]:
        operator, value = (operator + word, value) if word == "=" else (operator, value + word)
    if operator not in ("==", "===") or value not in ("0", "1", "1'b0", "1'b1", "1'd0", "1'd1", "1'h0", "1'h1"):
        return "", False
    return name, value.endswith("0")

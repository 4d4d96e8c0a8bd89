"""What can be known of a harness by reading it: the modules and names that it needs, and how often it can object."""

import ast
import re
from collections.abc import Iterable, Iterator

from rtl_agent.audit.trees import Design, Files
from rtl_agent.grading import Grade
from rtl_agent.grading.interface import HDL, ExpectedInterface, expected_interface
from rtl_agent.problems import Problem

_WORD = re.compile(r"[A-Za-z_]\w*")
# Handles of everything in a design, whatever it is called.
_LOOKS_AT_ALL = re.compile(
    r"\b(_sub_handles|_discover_all|_handles|_get_all)\b|\b(in|iter\(|list\(|dir\()\s*dut\s*[:\])]"
)
_HEADER = re.compile(r"^[ \t]*module\s+(\w+)\b.*?;", re.MULTILINE | re.DOTALL)


def design_of(problem: Problem, files: Files) -> Design:
    """An answer to a problem with what is beside it, and the modules that its harness simulates."""
    around = {path: text for path, text in problem.context.items() if path not in problem.targets}
    own = {path: text for path, text in problem.harness.files.items() if path.endswith((".svh", ".vh"))}
    hdl = {
        path: text for path, text in {**around, **own}.items() if path.endswith(HDL) and not path.startswith("verif/")
    }
    return Design(dict(files), hdl, tuple(one.top for one in expected_interface(problem.harness)))


def touched(problem: Problem) -> dict[str, dict[str, int]]:
    """Module -> names that its tests look for, ports or not, with a width."""
    return {
        one.top: {
            port.name: port.width or _guessed_width(port.name)
            for port in one.ports
            if port.name.isidentifier() and port.name not in one.parameters
        }
        for one in expected_interface(problem.harness)
    }


def not_found(grade: Grade) -> Iterator[tuple[str, str, int]]:
    """(module, name, width) of what a test looked for in a module and did not find, or not as one bit."""
    said = "\n".join((*grade.reasons, *(test.message or "" for test in grade.tests)))
    for module, name in dict.fromkeys(_NOT_FOUND.findall(said)):
        yield module, name, _guessed_width(name)
    for module, name in dict.fromkeys(_NOT_ONE_BIT.findall(said)):
        yield module, name, 1


def set_parameters(problem: Problem) -> list[str]:
    """Those that the harness sets when it compiles."""
    return list(dict.fromkeys(name for one in expected_interface(problem.harness) for name in one.parameters))


def said_words(problem: Problem) -> set[str]:
    """Every word of the specification, of the files that come with it, and of the paths of files that are asked for."""
    paths = (*problem.targets, *problem.context)
    return set(_WORD.findall("\n".join((problem.prompt, *paths, *problem.context.values()))))


def unnamed(problem: Problem) -> tuple[str, ...]:
    """Names that the tests need and nothing that is shown gives: modules, parameters, what is touched in the design.
    `data_3` is given by `data_0`, or by `data_`."""
    words = said_words(problem)
    stems = {word.rstrip("0123456789") for word in words if word[-1].isdigit() or word.endswith("_")}
    expected = expected_interface(problem.harness)
    needed = (name for one in expected for name in (*one.parameters, *(port.name for port in one.ports)))
    missing = (name for name in (*(one.top for one in expected), *needed) if name not in words)
    return tuple(
        dict.fromkeys(name for name in missing if name.rstrip("0123456789") not in stems or not name[-1].isdigit())
    )


def unmentioned(problem: Problem, outputs: Iterable[str]) -> tuple[str, ...]:
    """Outputs whose names the tests neither have nor can form from a beginning or an end that they have as a string."""
    names = tuple(dict.fromkeys(outputs))
    texts = [text for path, text in problem.harness.files.items() if path.endswith((".py", *HDL))]
    words = {word for text in texts for word in _WORD.findall(text)}
    if any(_LOOKS_AT_ALL.search(text) for text in texts):
        return ()
    parts = [part for text in texts for part in _strings(text)]
    begins = {part.rstrip("_") for part in parts if part.rstrip("_")}
    ends = {part for part in parts if part.startswith("_")}

    def formed(name: str) -> bool:
        pieces = name.split("_")
        begun = any("_".join(pieces[:count]) in begins for count in range(1, len(pieces)))
        return begun or name.rstrip("0123456789").rstrip("_") in begins or any(name.endswith(end) for end in ends)

    return tuple(name for name in names if name not in words and not formed(name))


def _strings(text: str) -> Iterator[str]:
    """The words in a Python text's strings, pieces of f-strings among them."""
    try:
        nodes = ast.walk(ast.parse(text))
        yield from (
            word
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for word in _WORD.findall(node.value)
        )
    except (SyntaxError, ValueError, RecursionError):
        return


def checks(problem: Problem) -> int:
    """How many asserts and raises the harness's Python has."""
    return sum(_checks(text) for path, text in problem.harness.files.items() if path.endswith(".py"))


def _checks(text: str) -> int:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return 1  # it fails, if by accident
    found = 0
    for node in nodes:
        found += isinstance(node, ast.Assert | ast.Raise)
        found += isinstance(node, ast.Attribute) and node.attr in ("fail", "raises")
    return found


def interfaces_shown(problem: Problem) -> Iterator[tuple[str, Files]]:
    """Where no right design is known: answers that have at least the interface, and what they take it from.

    The files as given; a module's head in the specification, made into a module of its own; last, what the tests touch.
    """
    if any(text.strip() for text in problem.given.values()):
        yield "the given files", {path: problem.given.get(path, "") for path in problem.targets}
    expected = expected_interface(problem.harness)
    if len(problem.targets) != 1 or len(expected) != 1:
        return
    for text in (problem.prompt, *problem.context.values()):
        for match in _HEADER.finditer(text):
            if match[1] == expected[0].top:
                yield "the specification", {problem.targets[0]: f"{_TIMESCALE}{match[0]}\nendmodule\n"}
    if expected[0].ports:
        yield TOUCHED, {problem.targets[0]: _as_touched(problem, expected[0])}


TOUCHED = "what the tests touch"  # an interface that is a guess: a design with it that fails says nothing
_TIMESCALE = "`timescale 1ns/1ps\n"  # as most designs have it: a clock of 5 ns has no half of whole nanoseconds
_TIMING = re.compile(r"cl(oc)?k|rst|reset", re.I)
_ONE_BIT = re.compile(
    rf"{_TIMING.pattern}|(^|_)(en|enable|valid|ready|start|done|clr|clear|load|req|ack|we|wr|rd)", re.I
)
_WIDE = 64  # an input of which nothing says how wide it is: what a test drives should fit
_NOT_FOUND = re.compile(r"\b(\w+) contains no (?:child )?object named '?([A-Za-z_]\w*)")
_NOT_ONE_BIT = re.compile(r"requires a scalar \w+\. Got \w+\((\w+)\.(\w+)\)")


def _guessed_width(name: str) -> int:
    return 1 if _ONE_BIT.search(name) else _WIDE


def _as_touched(problem: Problem, expected: ExpectedInterface) -> str:
    """A module with the ports that the tests touch and the specification names, as wide as it says."""
    said = said_words(problem)
    shown = "\n".join((problem.prompt, *problem.context.values()))
    ports = []
    for port in expected.ports:
        if port.name not in said or port.name in expected.parameters or not port.name.isidentifier():
            continue
        width = port.width or _said_width(shown, port.name)
        if port.direction == "input" or _TIMING.search(port.name):
            ports.append(f"  input [{(width or _guessed_width(port.name)) - 1}:0] {port.name}")
        else:
            ports.append(f"  output [{(width or 1) - 1}:0] {port.name}")
    parameters = ", ".join(f"parameter {name} = 8" for name in expected.parameters if name.isidentifier())
    head = f"module {expected.top} {f'#({parameters}) ' if parameters else ''}"
    return f"{_TIMESCALE}{head}(\n" + ",\n".join(ports).replace(" [0:0]", "") + "\n);\nendmodule\n"


def _said_width(shown: str, name: str) -> int | None:
    """`[7:0] name` or `name[7:0]`, Markdown's marks between them aside."""
    own = re.escape(name)
    found = re.search(rf"\[(\d+)\s*:\s*0\][`* ]*{own}\b|\b{own}[`* (]*\[(\d+)\s*:\s*0\]", shown)
    return min(int(found[1] or found[2]), 4095) + 1 if found else None

"""What can be known of a harness by reading it: the modules and names that it needs, and how often it can object."""

import ast
import re
from collections.abc import Iterator

from rtl_agent.audit.trees import Design, Files
from rtl_agent.grading.interface import HDL, expected_interface
from rtl_agent.problems import Problem

_WORD = re.compile(r"[A-Za-z_]\w*")
_HEADER = re.compile(r"^[ \t]*module\s+(\w+)\b.*?;", re.MULTILINE | re.DOTALL)


def design_of(problem: Problem, files: Files) -> Design:
    """An answer to a problem with what is beside it, and the modules that its harness simulates."""
    around = {path: text for path, text in problem.context.items() if path not in problem.targets}
    own = {path: text for path, text in problem.harness.files.items() if path.endswith((".svh", ".vh"))}
    hdl = {
        path: text for path, text in {**around, **own}.items() if path.endswith(HDL) and not path.startswith("verif/")
    }
    return Design(dict(files), hdl, tuple(one.top for one in expected_interface(problem.harness)))


def set_parameters(problem: Problem) -> list[str]:
    """Those that the harness sets when it compiles."""
    return list(dict.fromkeys(name for one in expected_interface(problem.harness) for name in one.parameters))


def said_words(problem: Problem) -> set[str]:
    """Every word of the specification and of the files that come with it."""
    return set(_WORD.findall("\n".join((problem.prompt, *problem.context.values()))))


def unnamed(problem: Problem) -> tuple[str, ...]:
    """Names that the tests need and nothing that is shown gives. `data_3` is given by `data_0`, or by `data_`."""
    words = said_words(problem)
    stems = {word.rstrip("0123456789") for word in words if word[-1].isdigit() or word.endswith("_")}
    needed = (port.name for one in expected_interface(problem.harness) for port in one.ports)
    tops = (one.top for one in expected_interface(problem.harness))
    missing = (name for name in (*tops, *needed) if name not in words)
    return tuple(
        dict.fromkeys(name for name in missing if name.rstrip("0123456789") not in stems or not name[-1].isdigit())
    )


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


def headers_shown(problem: Problem) -> Iterator[Files]:
    """Where no right design is known: answers that have at least the interface, as what is shown gives it.

    The files as given; then a module's head in the specification, made into a module of its own.
    """
    if any(text.strip() for text in problem.given.values()):
        yield {path: problem.given.get(path, "") for path in problem.targets}
    tops = [one.top for one in expected_interface(problem.harness)]
    if len(problem.targets) != 1 or len(tops) != 1:
        return
    for text in (problem.prompt, *problem.context.values()):
        for match in _HEADER.finditer(text):
            if match[1] == tops[0]:
                yield {problem.targets[0]: f"{match[0]}\nendmodule\n"}

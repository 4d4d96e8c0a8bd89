"""Answers questions about a design's syntax tree: its interface, its mutations, and designs made of it.

Started in a box beside worker.py, whose readers and limits it has.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

sys.path.insert(0, "/code")

import worker
from mutations import mutations
from rewrites import apply, gutted, renamed, stuck
from tree import Design, errors

Request = Mapping[str, Any]


def opened(request: Request) -> Design:
    return Design(request["files"], request["tops"], request["targets"])


def outline(request: Request) -> dict[str, Any]:
    """The modules of the targets: ports, parameters, clocks and names inside."""
    design = opened(request)
    modules = [
        {
            "name": module.name,
            "file": module.file,
            "is_top": module.is_top,
            "ports": module.ports,
            "parameters": module.parameters,
            "events": events(module),
            "internal": module.internal,
        }
        for module in design.modules
    ]
    return {"modules": modules, "errors": errors(request["files"], request["tops"])}


def events(module: Any) -> list[list[str]]:
    """[edge, signal] of every event that the module waits for."""
    from tree import below, identifiers, kind

    found = {
        (event.edge.rawText if event.edge is not None else "", name)
        for event in below(module.syntax)
        if kind(event) == "SignalEventExpression"
        for name in sorted(identifiers(event))
    }
    return [list(one) for one in sorted(found)]


def told_mutations(request: Request) -> dict[str, Any]:
    return {"mutations": mutations(opened(request), request["parameters"])}


def checked(request: Request) -> dict[str, Any]:
    """Which mutations compile: those with no error that the design did not have before."""
    files, before = request["files"], errors(request["files"], request["tops"])
    right = []
    for one in request["mutations"]:
        path = one["file"]
        changed = {**files, path: apply(files[path].encode("utf-8", "replace"), one["edits"])}
        right.append(errors(changed, request["tops"]) == before)
    return {"right": right}


def told_stuck(request: Request) -> dict[str, Any]:
    return {"outputs": list(stuck(opened(request)))}


def told_gutted(request: Request) -> dict[str, Any]:
    design = opened(request)
    touched = request["touched"]
    return {"designs": {how: gutted(design, how, touched) for how in ("ports", "'0", "'1", "'x", "inputs", "clock")}}


def told_renamed(request: Request) -> dict[str, Any]:
    edits, names = renamed(opened(request), request["kept"])
    by_file: dict[str, list[Any]] = {}
    for file, edit in edits:
        by_file.setdefault(file, []).append(edit)
    return {"edits": by_file, "names": names}


QUESTIONS: dict[str, Callable[[Request], dict[str, Any]]] = {
    "outline": outline,
    "mutations": told_mutations,
    "check": checked,
    "stuck": told_stuck,
    "gutted": told_gutted,
    "renamed": told_renamed,
}


def answer(request: Request) -> dict[str, Any]:
    return QUESTIONS[request["question"]](request)


if __name__ == "__main__":
    worker.main(answer)

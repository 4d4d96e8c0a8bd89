"""What the directories of `attacks/` and `accepts/` have in common: how a case is read, and the problem it is for."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from rtl_agent.problems import CocotbVersion, Problem, Service, load_problems

_ROOT = Path(__file__).parents[2]


@cache  # each worker collects them all, for several tests: without it 2 s of CPU
def read_expect(case: Path) -> dict[str, Any]:
    expect = yaml.load((case / "expect.yaml").read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    assert isinstance(expect, dict), case
    return expect


def cases_of_kind(folder: Path, kind: str) -> list[Any]:
    """A parameter for each case below the folder, slow ones marked."""
    found = []
    for case in sorted(path.parent for path in folder.glob("*/expect.yaml")):
        expect = read_expect(case)
        if expect.get("kind", "design") == kind:
            marks = [pytest.mark.slow] if expect.get("slow") else []
            found.append(pytest.param(case, expect, id=case.name, marks=marks))
    return found


def text_of(case: Path, expect: Mapping[str, Any], name: str, canary: Path | None = None) -> str:
    """A case's text: a file as it is, byte for byte, or made of `parts` where it would be megabytes of the same."""
    if name in expect.get("parts", {}):
        pieces = expect["parts"][name]
        text = "".join(piece if isinstance(piece, str) else piece["repeat"] * piece["times"] for piece in pieces)
    else:
        text = (case / name).read_bytes().decode(errors="surrogateescape")
    return text if canary is None else text.replace("@CANARY@", str(canary))


def problem_for(expect: Mapping[str, Any], bundled: Mapping[str, Problem]) -> Problem:
    """The bundled problem, or one of `source`; its harness changed where the case needs a kind that we do not have."""
    problem = _of_a_source(expect) if "source" in expect else bundled[expect["problem"]]
    files = dict(problem.harness.files)
    for edit in expect.get("harness_edits", ()):
        assert edit["old"] in files[edit["file"]], edit
        files[edit["file"]] = files[edit["file"]].replace(edit["old"], edit["new"])
    files |= expect.get("harness_files", {})
    services: list[Service] = list(problem.harness.services)
    if "src_writable" in expect:
        services = [replace(service, src_writable=expect["src_writable"]) for service in services]
    cocotb_version = CocotbVersion(expect.get("cocotb_version", problem.harness.cocotb_version))
    harness = replace(problem.harness, files=files, services=tuple(services), cocotb_version=cocotb_version)
    return replace(problem, context={**problem.context, **expect.get("context", {})}, harness=harness)


def _of_a_source(expect: Mapping[str, Any]) -> Problem:
    """Paths in a source are from the root of the repository."""
    name, _, path = expect["source"].partition(":")
    return next(one for one in load_problems(f"{name}:{_ROOT / path}") if one.id == expect["problem"])

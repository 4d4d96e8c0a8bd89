"""CVDP JSONL -> `Problem`: v1.0.x and v1.1.0, agentic and not, open, commercial and comprehension."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rtl_agent.problems.cocotb_version import cocotb_version_of
from rtl_agent.problems.compose import COMPOSE_FILE, read_services
from rtl_agent.problems.errors import BadField, BadRecord, NoSuchProblems
from rtl_agent.problems.harness import Harness
from rtl_agent.problems.patch import PatchError, apply_patch
from rtl_agent.problems.paths import why_unsafe
from rtl_agent.problems.problem import Kind, Needs, Problem

_ID = re.compile(r"(?:cvdp_(?:copilot|agentic)|rtl)_(?P<family>.+)_(?:\d{4}|[0-9a-f]{12})")
_COMMERCIAL = re.compile(r"__VERIF_EDA_IMAGE__|__LICENSE_NETWORK__|licnetwork")


def read_problems(
    path: Path, *, skip_bad: bool = False, on_bad: Callable[[BadRecord], None] | None = None
) -> list[Problem]:
    """Every problem of a JSONL file, or of all JSONL files in a folder.

    A bad line raises `BadRecord`; with `skip_bad` it is handed to `on_bad` and left out.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise NoSuchProblems(f"{path} has no *.jsonl files")
    problems: list[Problem] = []
    for file in files:
        seen: dict[str, int] = {}
        for number, line in _lines(file):
            try:
                problem = _parse_line(line, file)
                if problem.id in seen:
                    raise BadField("id", f"{problem.id} stands on line {seen[problem.id]} already")
                seen[problem.id] = number
                problems.append(problem)
            except BadField as bad:
                record = BadRecord(file, number, bad.field, bad.reason)
                if not skip_bad:
                    raise record from bad
                if on_bad is not None:
                    on_bad(record)
    if not problems:
        raise NoSuchProblems(f"{path} has no problems")
    return problems


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise NoSuchProblems(f"{file} cannot be read: {error.strerror}") from error


def _parse_line(line: bytes, file: Path) -> Problem:
    try:
        record = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadField("line", f"is not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError of its own
        raise BadField("line", f"is no JSON: {error}") from error
    if not isinstance(record, dict):
        raise BadField("line", "is no JSON object")
    return parse_record(record, source=str(file))


def parse_record(record: Mapping[str, Any], *, source: str = "") -> Problem:
    """One record, in either of CVDP's two shapes."""
    identifier = _text(record, "id")
    match = _ID.fullmatch(identifier)
    if match is None:
        raise BadField("id", f"{identifier!r} is not <set>_<topic>_<four digits>")
    category, difficulty = _categories(record)
    agentic = "input" not in record
    inputs = record if agentic else _mapping(record, "input")
    context = _files(inputs, "context", "context" if agentic else "input.context")
    targets, reference = _agentic_targets(record, context) if agentic else _single_shot_targets(record)
    harness_files = _harness_files(record)
    needs = _needs(harness_files)
    answer = None if agentic else _mapping(record, "output").get("response")
    return Problem(
        id=identifier,
        family=match["family"],
        category=category,
        difficulty=difficulty,
        kind=Kind.AGENTIC if agentic else Kind.SINGLE_SHOT,
        needs=needs,
        prompt=_text(inputs, "prompt", "prompt" if agentic else "input.prompt"),
        context=context,
        targets=targets,
        harness=Harness(
            files=harness_files,
            services=read_services(harness_files) if needs is not Needs.TEXT else (),
            cocotb_version=cocotb_version_of(harness_files),
        ),
        reference=reference,
        system_message=record.get("system_message") if isinstance(record.get("system_message"), str) else None,
        answer=answer if isinstance(answer, str) and answer else None,
        source=source,
    )


def _single_shot_targets(record: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, str] | None]:
    golden = _files(_mapping(record, "output"), "context", "output.context")
    return tuple(golden), golden if golden and all(golden.values()) else None


def _agentic_targets(
    record: Mapping[str, Any], context: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str] | None]:
    patches = _files(record, "patch", "patch")
    if not patches or not all(patches.values()):
        return tuple(patches), None
    try:
        return tuple(patches), {path: apply_patch(context.get(path, ""), diff) for path, diff in patches.items()}
    except PatchError as error:
        raise BadField("patch", str(error)) from error


def _needs(harness_files: Mapping[str, str]) -> Needs:
    if not harness_files:
        return Needs.TEXT
    if any(_COMMERCIAL.search(text) for text in harness_files.values()):
        return Needs.COMMERCIAL
    return Needs.OPEN_TOOLS


def _harness_files(record: Mapping[str, Any]) -> dict[str, str]:
    harness = _mapping(record, "harness")
    nested = isinstance(harness.get("files"), dict)
    files = _files(harness, "files", "harness.files") if nested else _files(record, "harness", "harness")
    if files and COMPOSE_FILE not in files:
        raise BadField(f"harness.{COMPOSE_FILE}", "is missing")
    return files


def _categories(record: Mapping[str, Any]) -> tuple[str, str]:
    value = record.get("categories")
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(item, str) for item in value)):
        raise BadField("categories", 'should be ["cidNNN", "easy|medium|hard"]')
    return value[0], value[1]


def _text(record: Mapping[str, Any], key: str, field: str | None = None) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadField(field or key, "is missing" if value is None else "should be text")
    return value


def _mapping(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = record.get(key)
    if not isinstance(value, dict):
        raise BadField(key, "is missing" if value is None else "should be an object")
    return value


def _files(record: Mapping[str, Any], key: str, field: str) -> dict[str, str]:
    """A path -> text object; an absent one is empty."""
    value = record.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadField(field, "should be an object of path and text")
    for path, text in value.items():
        if (reason := why_unsafe(path)) is not None:
            raise BadField(f"{field}[{path!r}]", reason)
        if not isinstance(text, str):
            raise BadField(f"{field}[{path!r}]", "should be text")
    return dict(value)

"""CVDP JSONL <-> `Problem`: v1.0.x and v1.1.0, agentic and not, open, commercial and comprehension."""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rtl_agent.problems.harness import COMPOSE_FILE, needs_of, read_harness
from rtl_agent.problems.problem import (
    WHOLE_LINE,
    BadField,
    BadRecord,
    Kind,
    NoSuchProblems,
    Problem,
    family_of,
    why_unsafe,
)

OnBad = Callable[[BadRecord], None]
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"


def read_problems(path: Path, *, skip_bad: bool = False, on_bad: OnBad | None = None) -> list[Problem]:
    """Every problem of a JSONL file, or of all JSONL files in a folder.

    A bad line raises `BadRecord`; with `skip_bad` it is handed to `on_bad` and left out.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise NoSuchProblems(f"{path} has no *.jsonl files")
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for file in files:
        for number, line in _lines(file):
            try:
                problem = _parse_line(line, file)
                if problem.id in seen:
                    raise BadField("id", f"{problem.id} was already defined at {seen[problem.id]}")
                seen[problem.id] = f"{file}:{number}"
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
        raise BadField(WHOLE_LINE, f"is not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError of its own
        raise BadField(WHOLE_LINE, f"is not valid JSON: {error}") from error
    if not isinstance(record, dict):
        raise BadField(WHOLE_LINE, "is not a JSON object")
    return parse_record(record, source=str(file))


def parse_record(record: Mapping[str, Any], *, source: str = "") -> Problem:
    """One record of a CVDP data set as a `Problem`.

    Args:
        record: the JSON object, in either of CVDP's two shapes.
        source: where it comes from, for messages.

    Raises:
        BadField: a field is missing or cannot be understood.

    Example:
        >>> import rtl_agent as ra
        >>> from rtl_agent.problems import as_record
        >>> problem = ra.load_problems("generated:mux,count=1")[0]
        >>> ra.parse_record(as_record(problem)).family
        'generated_mux'
    """
    identifier = _text(record, "id")
    family = family_of(identifier)
    category, difficulty = _categories(record)
    agentic = "input" not in record
    inputs = record if agentic else _mapping(record, "input")
    context = _files(inputs, "context", "context" if agentic else "input.context")
    targets, reference = _agentic_targets(record, context) if agentic else _single_shot_targets(record)
    harness_files = _harness_files(record)
    answer = None if agentic else _mapping(record, "output").get("response")
    return Problem(
        id=identifier,
        family=family,
        category=category,
        difficulty=difficulty,
        kind=Kind.AGENTIC if agentic else Kind.SINGLE_SHOT,
        needs=needs_of(harness_files),
        prompt=_text(inputs, "prompt", "prompt" if agentic else "input.prompt"),
        context=context,
        targets=targets,
        harness=read_harness(harness_files),
        reference=reference,
        system_message=record.get("system_message") if isinstance(record.get("system_message"), str) else None,
        answer=answer if isinstance(answer, str) and answer else None,
        source=source,
    )


def as_record(problem: Problem) -> dict[str, Any]:
    """A problem as a line of a CVDP data set; `parse_record` reads it back."""
    reference = problem.reference if problem.reference is not None else dict.fromkeys(problem.targets, "")
    golden = {target: reference[target] for target in problem.targets}
    head = {"id": problem.id, "categories": [problem.category, problem.difficulty]}
    if problem.kind is Kind.AGENTIC:
        given = problem.context
        patch = {path: text and make_patch(given.get(path, ""), text) for path, text in golden.items()}
        system = {} if problem.system_message is None else {"system_message": problem.system_message}
        files = {"context": dict(given), "patch": patch, "harness": dict(problem.harness.files)}
        return {**head, **system, "prompt": problem.prompt, **files}
    return {
        **head,
        "input": {"prompt": problem.prompt, "context": dict(problem.context)},
        "output": {"response": problem.answer or "", "context": golden},
        "harness": {"files": dict(problem.harness.files)},
    }


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


class PatchError(ValueError):
    """The diff does not fit the text it should change."""


def make_patch(old: str, new: str) -> str:
    """The hunks that `apply_patch` needs to make `new` of `old`."""
    lines = list(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), n=3))
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in lines[2:])


def apply_patch(original: str, diff: str) -> str:
    """The text after `diff`. Every context and removed line must match exactly: a reference is not guessed at."""
    source = original.splitlines(keepends=True)
    result: list[str] = []
    at = 0  # lines of `source` that are already in `result` or removed
    lines = diff.splitlines(keepends=True)
    index = 0
    while index < len(lines):
        if lines[index].startswith(("--- ", "+++ ", "diff ", "index ")) or not lines[index].strip():
            index += 1
            continue
        header = _HUNK.match(lines[index])
        if header is None:
            raise PatchError(f"line {index + 1} of the diff is not a hunk header: {lines[index].rstrip()!r}")
        old_start, old_count = int(header[1]), int(header[2] or 1)
        new_count = int(header[4] or 1)
        start = old_start if old_count == 0 else old_start - 1
        if not at <= start <= len(source):
            raise PatchError(f"a hunk starts at line {old_start} of a text with {len(source)} lines")
        result += source[at:start]
        at = start
        index += 1
        while (old_count or new_count) and index < len(lines):
            mark, text = lines[index][:1], lines[index][1:]
            if mark == "\\":
                index += 1
                continue
            if mark in ("\n", "\r"):  # an empty context line that lost its leading space
                mark, text = " ", lines[index]
            if mark in (" ", "-"):
                if at >= len(source) or source[at].rstrip("\r\n") != text.rstrip("\r\n"):
                    found = source[at].rstrip("\r\n") if at < len(source) else "the end of the file"
                    raise PatchError(f"line {at + 1} should be {text.rstrip()!r} but is {found!r}")
                if mark == " ":
                    result.append(source[at])
                    new_count -= 1
                at += 1
                old_count -= 1
            elif mark == "+":
                last = index + 1 < len(lines) and lines[index + 1].startswith(_NO_NEWLINE)
                result.append(text.rstrip("\r\n") if last else text.rstrip("\r\n") + "\n")
                new_count -= 1
            else:
                raise PatchError(f"line {index + 1} of the diff starts with {mark!r}")
            index += 1
        if old_count > 0 or new_count > 0:
            raise PatchError("the last hunk is cut short")
        while index < len(lines) and lines[index].startswith("\\"):
            index += 1
    return "".join(result + source[at:])

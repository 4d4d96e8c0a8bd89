"""Whatever stands in a data file, the reader gives a problem or says what is wrong with which line."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, read_problems
from rtl_agent.problems.harness import parse_env_file
from rtl_agent.problems.sources import bundled_path

from .strategies import any_json, any_text, drop, places, put

RECORDS: list[dict[str, Any]] = [
    json.loads(line) for file in sorted(bundled_path().glob("*.jsonl")) for line in file.open()
]
PLACES = [places(record) for record in RECORDS]


def read(folder: Path, line: bytes) -> list[Problem]:
    """The reader's answer; only its own two exceptions may come instead."""
    file = folder / "mutated.jsonl"
    file.write_bytes(line + b"\n")
    try:
        return read_problems(file)
    except (BadRecord, NoSuchProblems):
        return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@st.composite
def mutated_records(draw: st.DrawFn) -> dict[str, Any]:
    at = draw(st.integers(0, len(RECORDS) - 1))
    record = copy.deepcopy(RECORDS[at])
    place = draw(st.sampled_from(PLACES[at]))
    if draw(st.booleans()):
        drop(record, place)
    else:
        put(record, place, draw(any_json))
    return record


@given(mutated_records())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_part_that_is_missing_or_something_else(folder: Path, record: dict[str, Any]) -> None:
    read(folder, json.dumps(record).encode())


@given(st.sampled_from(RECORDS), st.lists(st.tuples(st.integers(0), st.binary(max_size=4)), max_size=4))
def test_bytes_that_are_something_else(folder: Path, record: dict[str, Any], changes: list[tuple[int, bytes]]) -> None:
    line = json.dumps(record).encode()
    for at, new in changes:
        at %= len(line)
        line = line[:at] + new.replace(b"\n", b"") + line[at + 1 :]
    read(folder, line)


@given(any_json)
def test_any_json_at_all(folder: Path, document: object) -> None:
    assert read(folder, json.dumps(document).encode()) == []


@given(st.binary(max_size=300))
def test_any_bytes_at_all(folder: Path, data: bytes) -> None:
    assert read(folder, data.replace(b"\n", b" ")) == []


HOSTILE_COMPOSE = [
    "services: {a: {command: x, env_file: {no: path}}}",
    "services: {a: {command: x, env_file: 7}}",
    "services: {a: {command: x, environment: text}}",
    "services: {a: {command: x, volumes: 7}}",
    "services: {a: {command: x, environment: 2001-99-99}}",
    "services: " + "[" * 5000,
]


@pytest.mark.parametrize("compose", HOSTILE_COMPOSE)
def test_a_compose_file_of_a_wrong_shape(folder: Path, compose: str) -> None:
    record = copy.deepcopy(RECORDS[0])
    harness = record["harness"].get("files", record["harness"])
    harness["docker-compose.yml"] = compose
    read(folder, json.dumps(record).encode())


def test_a_number_with_too_many_digits(folder: Path) -> None:
    assert read(folder, b'{"id": ' + b"1" * 5000 + b"}") == []


@given(st.lists(st.one_of(any_text, st.sampled_from(["A=1", "B = 'x y'", 'C="', "=x", "export D=1 # e", "#"]))))
def test_any_env_file(lines: list[str]) -> None:
    env = parse_env_file("\n".join(lines))
    for key, value in env.items():
        assert key == key.strip()
        assert "\n" not in key + value
        assert parse_env_file(f"{key}={value}").keys() <= {key, key.removeprefix("export ").strip()}


@given(
    st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), st.from_regex(r"[a-z0-9/._-]{0,12}", fullmatch=True))
)
def test_an_env_file_comes_out_as_it_went_in(env: dict[str, str]) -> None:
    assert parse_env_file("".join(f"{key} = {value}\n" for key, value in env.items())) == env
